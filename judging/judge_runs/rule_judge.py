"""The judge that is no model judges a whole tournament, at once and for nothing."""

from __future__ import annotations

from collections.abc import Iterator

from judging.judges import rubric_of
from judging.model_judge import Pair, rules
from judging.models import Comparison, Judge, Rubric, Side, Tournament
from judging.voting import BATCH, Judged, of_judge


class NotByRules(ValueError):
    """A judge that has to be asked."""


def judge_all(tournament: Tournament, judge: Judge) -> int:
    """Judges every comparison of answers that differ by every rubric, both ways round. How many verdicts; done twice,
    they are kept once.

    Raises NotByRules for a judge that has to be asked over HTTP: `asking.start` does that.
    """
    if judge.kind != Judge.Kind.RULES:
        raise NotByRules(f"{judge} has to be asked over HTTP: start it on the tournament")
    rubrics = list(tournament.rubrics.select_related("criterion").order_by("pk"))
    rows = list(
        tournament.comparisons.to_judge().select_related("prompt__prompt", "response_a", "response_b", "gold_pair")
    )
    said = [one for row in rows for rubric in rubrics for one in _both_ways(row, rubric)]
    for start in range(0, len(said), BATCH):
        of_judge(judge, said[start : start + BATCH])
    return len(said)


def _both_ways(row: Comparison, rubric: Rubric) -> Iterator[Judged]:
    texts = row.texts
    if texts is None:
        return
    for first, pair in ((Side.A, Pair(*texts)), (Side.B, Pair(*texts).swapped())):
        end = rules.judge(rubric_of(rubric), pair)
        scores = end.reading.scores if end.reading else None
        yield Judged(row.pk, rubric.pk, first, end.outcome, scores)
