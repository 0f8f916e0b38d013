"""What detectors know of an evaluation: its responses, the evaluator's values, and the other runs of the experiment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from workers.analysis.detectors.facts import EvaluatedResponse, Facts, facts_of
from workers.analysis.keys import REWARD

Stratum: TypeAlias = tuple[str, str, bool]


@dataclass(frozen=True)
class Evaluation:
    """One evaluation of a model. `step` is its training step; 0 is the model before training.

    responses: all of them, greedy and sampled. values: the evaluator's numbers by key, with `reward/mean` and `kl`
    (nats per token) as far as measured. scores: what scorers outside the reward gave afterwards, scorer/key -> key of
    the response -> score. token_limit: the largest number of tokens of a response; None if unknown. model: path of the
    base model; "" if it is unknown, or if the KL is not the evaluator's own.
    """

    step: int
    responses: Sequence[EvaluatedResponse] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    scores: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    token_limit: int | None = None
    model: str = ""

    @cached_property
    def facts(self) -> Facts:
        """Counts over the responses."""
        return facts_of(self.responses, self.token_limit)

    @cached_property
    def strata(self) -> Mapping[Stratum, Sequence[EvaluatedResponse]]:
        """(prompt, expected answer, whether greedy) -> the responses, by sample."""
        strata: dict[Stratum, list[EvaluatedResponse]] = defaultdict(list)
        for response in sorted(self.responses, key=lambda r: r.sample):
            strata[response.prompt, response.target, response.is_greedy].append(response)
        return strata

    @cached_property
    def greedy(self) -> Sequence[EvaluatedResponse]:
        """Return the greedy responses, of which the evaluator's values are means; all responses if none is greedy."""
        return [response for response in self.responses if response.is_greedy] or self.responses

    @property
    def reward(self) -> float | None:
        """The mean reward; that of the responses if the evaluator's is not known."""
        if REWARD in self.values:
            return self.values[REWARD]
        return sum(r.reward for r in self.greedy) / len(self.greedy) if self.greedy else None


@dataclass(frozen=True)
class Peer:
    """Another run that differs in its seed alone: the same model, task, method and settings.

    kl: step -> KL in nats per token. is_flagged: whether a detector other than that of the KL flags it.
    """

    name: str
    kl: Mapping[int, float] = field(default_factory=dict)
    is_flagged: bool = False
