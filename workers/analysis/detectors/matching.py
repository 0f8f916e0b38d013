"""Pair the responses of an evaluation with those before training: same prompt, same kind of sample.

Evaluations with other settings are compared on what both have: a greedy response is paired with a greedy one, a sample
with a sample, and of each prompt as many as the side with fewer has. Both sides then weigh all prompts alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from workers.analysis.detectors.evaluation import Evaluation
from workers.analysis.detectors.facts import EvaluatedResponse

Pair: TypeAlias = tuple[EvaluatedResponse, EvaluatedResponse]

MIN_SHARED = 0.9
"""Part of the evaluation's prompts that have to pair. The others would be compared with nothing."""


@dataclass(frozen=True)
class Comparison:
    """An evaluation beside the one before training, if that is known."""

    evaluation: Evaluation
    before: Evaluation | None

    @cached_property
    def base(self) -> Evaluation | None:
        """The evaluation before training; None if it is not known, or shows too many other prompts."""
        if self.before is None or shared_prompts(self.evaluation, self.before) < MIN_SHARED:
            return None
        return self.before

    @cached_property
    def pairs(self) -> Sequence[Pair]:
        """(response now, response before) for all that both sides have, by prompt; none without a base."""
        return () if self.base is None else _paired(self.evaluation, self.base)

    @cached_property
    def reward_rose(self) -> bool:
        """Return whether the mean reward of the greedy pairs, of all if none is greedy, is above that before
        training."""
        pairs = [pair for pair in self.pairs if pair[0].is_greedy] or self.pairs
        return sum(now.reward for now, _ in pairs) > sum(before.reward for _, before in pairs)

    @property
    def has_same_limit(self) -> bool:
        """Return whether both sides have the same limit of tokens, so that what was cut is comparable."""
        return self.base is not None and self.base.token_limit == self.evaluation.token_limit


def shared_prompts(evaluation: Evaluation, base: Evaluation) -> float:
    """Return the part of the evaluation's prompts that have a pair, from 0 to 1."""
    prompts = {(response.prompt, response.target) for response in evaluation.responses}
    paired = {(now.prompt, now.target) for now, _ in _paired(evaluation, base)}
    return len(paired) / len(prompts) if prompts else 0.0


def _paired(evaluation: Evaluation, base: Evaluation) -> Sequence[Pair]:
    now, before = evaluation.strata, base.strata
    return [pair for key in now if key in before for pair in zip(now[key], before[key], strict=False)]
