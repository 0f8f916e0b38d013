"""Judge a whole tournament by rules, without a model, immediately and for free."""

from __future__ import annotations

from collections.abc import Iterator

from judging.judges import rubric_of
from judging.model_judge import Pair, rules
from judging.models import Comparison, Judge, Rubric, Side, Tournament
from judging.voting import BATCH_SIZE, JudgeVerdict, save_judge_verdicts


class NotRulesJudge(ValueError):
    """Error for a judge that has to be asked over HTTP."""


def judge_all(tournament: Tournament, judge: Judge) -> int:
    """Judge every comparison of responses that differ by every rubric, in both orders. Return the number of verdicts;
    repeated calls store them once.

    Raise NotRulesJudge for a judge that has to be asked over HTTP: `judge_runs.start` does that.
    """
    if judge.kind != Judge.Kind.RULES:
        raise NotRulesJudge(f"{judge} is asked over HTTP: start it on the tournament")
    rubrics = list(tournament.rubrics.select_related("criterion").order_by("pk"))
    rows = list(
        tournament.comparisons.to_judge().select_related("prompt__prompt", "response_a", "response_b", "gold_pair")
    )
    verdicts = [verdict for row in rows for rubric in rubrics for verdict in _both_ways(row, rubric)]
    for start in range(0, len(verdicts), BATCH_SIZE):
        save_judge_verdicts(judge, verdicts[start : start + BATCH_SIZE])
    return len(verdicts)


def _both_ways(row: Comparison, rubric: Rubric) -> Iterator[JudgeVerdict]:
    texts = row.texts
    if texts is None:
        return
    for first, pair in ((Side.A, Pair(*texts)), (Side.B, Pair(*texts).swapped())):
        end = rules.judge(rubric_of(rubric), pair)
        scores = end.reading.scores if end.reading else None
        yield JudgeVerdict(row.pk, rubric.pk, first, end.outcome, scores)
