"""Reward and gold measure of a run's evaluations over the API."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from runs.http import ApiRequest, Output, Uid, get_run, needs, router
from runs.responses.outcomes import ALL, GOLD, GREEDY, REWARD, SAMPLED, Outcomes, StepOutcome, read_outcomes
from runs.run_page.reward_and_gold.sentences import Verdict, outlook_of
from workers.analysis.proxy_gold import Change, Level
from workers.config.tasks import GoldMeasure


class MeasuredMeanOut(Output):
    """A mean over prompts and its 95 % interval, which is null if the prompts are too few for one. `responses`: the
    number of responses behind it."""

    mean: float
    low: float | None
    high: float | None
    prompts: int
    responses: int

    @classmethod
    def of(cls, estimate: Level | Change | None) -> Self | None:
        """Return the estimate; None if it is not known."""
        return None if estimate is None else cls(**vars(estimate))


class MeasuresOut(Output):
    """The two measures over the same selection of responses, null where they are not known."""

    reward: MeasuredMeanOut | None
    gold: MeasuredMeanOut | None


class StepOutcomeOut(Output):
    """An evaluation: over its greedy and its sampled responses."""

    step: int
    greedy: MeasuresOut
    sampled: MeasuresOut

    @classmethod
    def from_outcome(cls, outcome: StepOutcome) -> Self:
        """Return the evaluation with its estimates."""
        measures = (
            MeasuresOut(
                reward=MeasuredMeanOut.of(outcome.level(REWARD, s)), gold=MeasuredMeanOut.of(outcome.level(GOLD, s))
            )
            for s in (GREEDY, SAMPLED)
        )
        greedy, sampled = measures
        return cls(step=outcome.step, greedy=greedy, sampled=sampled)


class ChangeOut(Output):
    """Changes from step 0 to `step`, paired by prompt: over all responses, the greedy and the sampled ones."""

    step: int
    all: MeasuresOut
    greedy: MeasuresOut
    sampled: MeasuresOut


class RewardAndGoldOut(Output):
    """Reward (the proxy) and gold measure of a run's evaluations.

    gold: the gold measure of the task, the share of responses whose answer is `right`, or that are `safe`. verdict:
    `hacking` if the reward rose while the gold measure fell, both by intervals that do not contain 0; `cannot_tell` if
    one of them contains 0; `unknown` if there is no estimate. words: the same as a sentence. evaluations: those with
    responses, at most 60, evenly selected of `total`. change: null without an evaluation at step 0 and a later one.
    """

    gold: GoldMeasure
    verdict: Verdict
    words: str
    total: int = Field(ge=0)
    change: ChangeOut | None
    evaluations: list[StepOutcomeOut]


@router.get(
    "/runs/{uid}/reward-and-gold",
    response=RewardAndGoldOut,
    auth=needs("read"),
    tags=["runs"],
    summary="Read reward and gold measure",
)
def read_reward_and_gold(request: ApiRequest, uid: Uid) -> RewardAndGoldOut:
    """Return the reward and the gold measure of a run's evaluations with 95 % intervals over prompts, and their changes
    since step 0. Evaluations of which responses are missing are left out."""
    outcomes = read_outcomes(get_run(request.auth, uid))
    outlook = outlook_of(outcomes)
    return RewardAndGoldOut(
        gold=outcomes.gold, verdict=outlook.slug, words=outlook.words, total=outcomes.total, change=_change(outcomes),
        evaluations=[StepOutcomeOut.from_outcome(outcome) for outcome in outcomes.steps],
    )  # fmt: skip


def _change(outcomes: Outcomes) -> ChangeOut | None:
    if outcomes.base is None or outcomes.last is None:
        return None
    changes = {
        selection: MeasuresOut(
            reward=MeasuredMeanOut.of(outcomes.change(REWARD, selection)),
            gold=MeasuredMeanOut.of(outcomes.change(GOLD, selection)),
        )
        for selection in (ALL, GREEDY, SAMPLED)
    }
    return ChangeOut(step=outcomes.last.step, **changes)
