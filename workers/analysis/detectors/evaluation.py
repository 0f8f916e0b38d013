"""What detectors know of an evaluation: its responses, the evaluator's values, and the other runs of the experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from workers.analysis.detectors.facts import EvaluatedResponse, Facts, facts_of
from workers.analysis.keys import ACCURACY, EXACT, REWARD

ACCURACIES = (ACCURACY, EXACT)
"""Shares of right responses; the first that both sides have is compared. A response that says more than the expected
answer is right by the first."""


@dataclass(frozen=True)
class Evaluation:
    """One evaluation of a model. `step` is its training step; 0 is the model before training.

    responses: all of them, greedy and sampled; may be empty if only numbers are known. values: the evaluator's numbers
    by key, with `reward/mean`, `accuracy/…`, `safety/safe_ratio` and `kl` (nats per token) as far as measured. scores:
    what scorers outside the reward gave afterwards, scorer/key -> a score per response that has one. token_limit: the
    largest number of tokens of a response; None if unknown.
    """

    step: int
    responses: Sequence[EvaluatedResponse] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    scores: Mapping[str, Sequence[float]] = field(default_factory=dict)
    token_limit: int | None = None

    @cached_property
    def facts(self) -> Facts:
        """Counts over the responses."""
        return facts_of(self.responses, self.token_limit)

    @cached_property
    def greedy(self) -> Sequence[EvaluatedResponse]:
        """Return the greedy responses, of which the evaluator's values are means; all responses if none is greedy."""
        return [response for response in self.responses if response.sample == 0] or self.responses

    @property
    def reward(self) -> float | None:
        """The mean reward; that of the responses if the evaluator's is not known."""
        if REWARD in self.values:
            return self.values[REWARD]
        return sum(r.reward for r in self.greedy) / len(self.greedy) if self.greedy else None


@dataclass(frozen=True)
class Peer:
    """The newest numbers of another run of the experiment, with the same model and task."""

    name: str
    values: Mapping[str, float] = field(default_factory=dict)
