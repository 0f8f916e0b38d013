"""The result of one detector at one evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from workers.analysis.detectors.examples import Examples
from workers.analysis.exact_tests import rise_interval
from workers.analysis.share_interval import share_interval

Counts: TypeAlias = tuple[int, int, int, int]
"""(count now, of n, count before, of m); m is 0 without a base."""


@dataclass(frozen=True)
class Detection:
    """A detector's test of one evaluation; it fired if its p-value is at most its level.

    value: the measured number. before: the same before training, or of the other runs; None if there is no such number.
    limit: the end of what honest runs may have, given `before`. n: responses or pairs behind the value; beside other
    runs the number of runs. key: the score that fell, or the kind of test, if there are several. p, level: the p-value,
    and what it has to be at most. number: that of the evaluation, counted from 1 after the base. counts: the
    shares of the test; is_fall: they count what is missing, such as wrong responses.
    """

    detector: str
    value: float
    limit: float
    before: float | None = None
    n: int | None = None
    key: str = ""
    examples: Examples = ()
    p: float = 1.0
    level: float = 0.0
    number: int = 1
    counts: Counts | None = None
    is_fall: bool = False

    @property
    def fired(self) -> bool:
        return self.p <= self.level

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the 95 % interval of the change of the share, or of the share itself without a base; None if the test
        is not one of a share. It takes some milliseconds for each pair of counts."""
        if self.counts is None:
            return None
        count, n, before, m = self.counts
        low, high = rise_interval(count, n, before, m) if m else share_interval(count, n)
        return (-high, -low) if self.is_fall else (low, high)
