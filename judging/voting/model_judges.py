"""What model judges, and the judge by rules, say of many comparisons at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from judging.models import Comparison, Judge, Side, Verdict
from judging.stats.votes import Outcome

BATCH = 2000


@dataclass(frozen=True)
class Judged:
    """What a model judge said of a comparison, as it stood before it: A is who stood first.

    scores: of who stood first and who stood second. call: None where nothing had to be asked, as by rules.
    """

    comparison: int
    rubric: int
    first: Side
    outcome: Outcome
    scores: tuple[float, float] | None = None
    call: int | None = None
    sample: int = 0

    @property
    def place(self) -> tuple[int, int, str, int]:
        """One current verdict of a judge is here at most."""
        return self.comparison, self.rubric, self.first.value, self.sample

    @property
    def from_a(self) -> tuple[str, float | None, float | None, int | None]:
        """Outcome, a's score, b's score, call: from a's side, wherever a stood."""
        first, second = self.scores or (None, None)
        if self.first is Side.A:
            return self.outcome.name.lower(), first, second, self.call
        turned = {Outcome.A: Outcome.B, Outcome.B: Outcome.A}.get(self.outcome, self.outcome)
        return turned.name.lower(), second, first, self.call


def of_judge(judge: Judge, said: Sequence[Judged]) -> None:
    """Keeps what a judge said in place of what it said before; the same said twice is kept once."""
    with transaction.atomic():
        places = {one.comparison for one in said}
        list(Comparison.objects.select_for_update(no_key=True).filter(pk__in=places).order_by("pk").values_list("pk"))
        current = {
            (row.comparison_id, row.rubric_id, row.first, row.sample): row
            for row in Verdict.objects.current().filter(judge=judge, comparison_id__in=places)
        }
        fresh = [one for one in said if not _is_kept(current.get(one.place), one)]
        replaced = [current[one.place].pk for one in fresh if one.place in current]
        Verdict.objects.filter(pk__in=replaced).update(replaced_at=timezone.now())
        Verdict.objects.bulk_create([_of_judge(judge, one) for one in fresh], batch_size=BATCH)


def _is_kept(row: Verdict | None, said: Judged) -> bool:
    return row is not None and (row.outcome, row.score_a, row.score_b, row.call_id) == said.from_a


def _of_judge(judge: Judge, said: Judged) -> Verdict:
    outcome, score_a, score_b, call = said.from_a
    return Verdict(
        comparison_id=said.comparison, rubric_id=said.rubric, judge=judge, call_id=call, sample=said.sample,
        outcome=outcome, score_a=score_a, score_b=score_b, first=said.first.value,
    )  # fmt: skip
