"""Store verdicts of model judges, and of the judge by rules, on many comparisons in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from judging.models import Comparison, Judge, Side, Verdict
from judging.stats.votes import Outcome

BATCH_SIZE = 2000


@dataclass(frozen=True)
class JudgeVerdict:
    """Verdict of a judge on a comparison as it was presented: A is the response in first position.

    scores: of the first and of the second response. call: None if no request was needed, as for rules.
    """

    comparison: int
    rubric: int
    first: Side
    outcome: Outcome
    scores: tuple[float, float] | None = None
    call: int | None = None
    sample: int = 0

    @property
    def identity(self) -> tuple[int, int, str, int]:
        """Return the key that at most one current verdict of a judge has."""
        return self.comparison, self.rubric, self.first.value, self.sample

    @property
    def values_from_a(self) -> tuple[str, float | None, float | None, int | None]:
        """Return (outcome, a's score, b's score, call) from a's side, in either position of a."""
        first, second = self.scores or (None, None)
        if self.first is Side.A:
            return self.outcome.name.lower(), first, second, self.call
        swapped = {Outcome.A: Outcome.B, Outcome.B: Outcome.A}.get(self.outcome, self.outcome)
        return swapped.name.lower(), second, first, self.call


def save_judge_verdicts(judge: Judge, verdicts: Sequence[JudgeVerdict]) -> None:
    """Store a judge's verdicts in place of its earlier ones; an equal verdict is not stored again."""
    with transaction.atomic():
        comparison_ids = {verdict.comparison for verdict in verdicts}
        list(
            Comparison.objects.select_for_update(no_key=True)
            .filter(pk__in=comparison_ids)
            .order_by("pk")
            .values_list("pk")
        )
        current = {
            (row.comparison_id, row.rubric_id, row.first, row.sample): row
            for row in Verdict.objects.current().filter(judge=judge, comparison_id__in=comparison_ids)
        }
        new_verdicts = [verdict for verdict in verdicts if not _is_stored(current.get(verdict.identity), verdict)]
        replaced = [current[verdict.identity].pk for verdict in new_verdicts if verdict.identity in current]
        Verdict.objects.filter(pk__in=replaced).update(replaced_at=timezone.now())
        Verdict.objects.bulk_create([_verdict_row(judge, verdict) for verdict in new_verdicts], batch_size=BATCH_SIZE)


def _is_stored(row: Verdict | None, verdict: JudgeVerdict) -> bool:
    return row is not None and (row.outcome, row.score_a, row.score_b, row.call_id) == verdict.values_from_a


def _verdict_row(judge: Judge, verdict: JudgeVerdict) -> Verdict:
    outcome, score_a, score_b, call = verdict.values_from_a
    return Verdict(
        comparison_id=verdict.comparison, rubric_id=verdict.rubric, judge=judge, call_id=call, sample=verdict.sample,
        outcome=outcome, score_a=score_a, score_b=score_b, first=verdict.first.value,
    )  # fmt: skip
