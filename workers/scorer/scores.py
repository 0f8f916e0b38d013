"""What a scorer says of an answer, whoever it is: a service over HTTP or tiny models in the process."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol


class ScorerFailed(RuntimeError):
    """There are no scores, and none are made up. The message says who was asked, how often and what went wrong."""


class ScorerRefused(ScorerFailed):
    """The scorer, or who says where it is, does not take what it is asked: asking again changes nothing."""


@dataclass(frozen=True)
class Scores:
    """Of one answer. `reward`: the higher, the more helpful. `cost`: above 0 is unsafe. Both finite."""

    reward: float
    cost: float


class Scorer(Protocol):
    """Scores answers, all of them or none."""

    def score(self, prompts: Sequence[str], responses: Sequence[str]) -> list[Scores]:
        """One for each pair, in order. Raises ScorerFailed."""


def paired(rewards: Any, costs: Any, count: int) -> list[Scores]:
    """Two lists as `count` Scores. Raises ValueError where one is too short or long, or holds no finite number."""
    return [
        Scores(*pair) for pair in zip(_numbers("rewards", rewards, count), _numbers("costs", costs, count), strict=True)
    ]


def _numbers(name: str, values: Any, count: int) -> list[float]:
    if not isinstance(values, list) or len(values) != count:
        said = f"{len(values)}" if isinstance(values, list) else f"{values!r:.50}"
        raise ValueError(f"{name} must be a list of {count} numbers, and is {said}")
    for n, value in enumerate(values):
        if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
            raise ValueError(f"{name}[{n}] must be a finite number, and is {value!r:.50}")
    return [float(value) for value in values]
