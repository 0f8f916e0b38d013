"""The interface of every scorer: a service over HTTP, or tiny models in the process."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol

from workers.outgoing import InvalidReply
from workers.outgoing.replies import describe_value


class ScorerFailed(RuntimeError):
    """There are no scores, and none are made up. The message names the scorer, the number of tries and the error."""


class ScorerRefused(ScorerFailed):
    """The scorer, or the site that knows its address, rejects the request: another try changes nothing."""


@dataclass(frozen=True)
class Scores:
    """Scores of one answer. `reward`: the higher, the more helpful. `cost`: above 0 is unsafe. Both are finite."""

    reward: float
    cost: float


class Scorer(Protocol):
    """A source of scores: it scores all answers of a call or none."""

    def score(self, prompts: Sequence[str], responses: Sequence[str]) -> list[Scores]:
        """Return the scores of each pair, in order. Raise ScorerFailed."""


def pair_scores(rewards: Any, costs: Any, count: int) -> list[Scores]:
    """Join two lists into `count` Scores. Raise InvalidReply, a ValueError, if one is too short or long, or holds no
    finite number."""
    return [
        Scores(*pair) for pair in zip(_numbers("rewards", rewards, count), _numbers("costs", costs, count), strict=True)
    ]


def _numbers(name: str, values: Any, count: int) -> list[float]:
    if not isinstance(values, list) or len(values) != count:
        received = f"{len(values)}" if isinstance(values, list) else describe_value(values)
        raise InvalidReply(f"{name} must be a list of {count} numbers, not {received}")
    for n, value in enumerate(values):
        if not isinstance(value, Real) or isinstance(value, bool) or not _is_finite(value):
            raise InvalidReply(f"{name}[{n}] must be a finite number, not {describe_value(value)}")
    return [float(value) for value in values]


def _is_finite(value: Real) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        # An integer of more digits than a float has.
        return False
