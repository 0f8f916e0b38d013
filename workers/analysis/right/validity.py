"""Validity of the measures of right answers: sensitivity and specificity against the gold labels.

Counts are of the responses of `docs/studies/labels` with a final verdict of right or wrong. The rules of `is_right`
were tuned on one half of them, which a hash of question and response selects; the figures that pages show are of the
other.
`tests/workers/analysis/right/test_validity.py` counts again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from workers.analysis.share_interval import share_interval

HELD_OUT, TUNING = "held-out", "tuning"
LENGTHS = {"≤ 10": 10, "11–60": 60, "> 60": None}
"""Name of a class of lengths -> its greatest length in characters, without outer white space."""


@dataclass(frozen=True)
class Cell:
    """Responses of one half, set and class of lengths: those labelled right and wrong, and for each measure how many
    of either it calls right."""

    half: str
    of_set: str
    length: str
    right: int
    wrong: int
    called_right: Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Share:
    """A share of n responses with its Clopper-Pearson 95 % interval; None for the values if n is 0."""

    count: int
    n: int

    @property
    def value(self) -> float | None:
        return self.count / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        return share_interval(self.count, self.n) if self.n else None

    def __str__(self) -> str:
        if self.value is None or self.interval is None:
            return "–"
        low, high = self.interval
        return f"{100 * self.value:.0f} % ({100 * low:.0f} to {100 * high:.0f} %)"


@dataclass(frozen=True)
class Validity:
    """Sensitivity: share of the responses labelled right that a measure calls right. Specificity: share of those
    labelled wrong that it does not."""

    sensitivity: Share
    specificity: Share


def length_class(response: str) -> str:
    """Return the class of lengths of a response."""
    length = len(response.strip())
    return next(name for name, limit in LENGTHS.items() if limit is None or length <= limit)


@cache
def validity(measure: str, half: str = HELD_OUT, of_set: str = "", length: str = "") -> Validity:
    """Return the validity of `right`, `contains` or `exact`; of all sets and all lengths if these are empty."""
    cells = [c for c in CELLS if c.half == half and of_set in ("", c.of_set) and length in ("", c.length)]
    hits = sum(cell.called_right[measure][0] for cell in cells)
    false_alarms = sum(cell.called_right[measure][1] for cell in cells)
    right, wrong = sum(cell.right for cell in cells), sum(cell.wrong for cell in cells)
    return Validity(Share(hits, right), Share(wrong - false_alarms, wrong))


def _cell(half: str, of_set: str, length: str, *counts: int) -> Cell:
    right, wrong, *called = counts
    pairs = zip(called[::2], called[1::2], strict=True)
    return Cell(half, of_set, length, right, wrong, dict(zip(("right", "contains", "exact"), pairs, strict=True)))


# half, set, length; labelled right and wrong; of these called right by: right, contains, exact.
CELLS: tuple[Cell, ...] = (
    _cell("held-out", "facts", "11–60", 20, 35, 19, 0, 19, 0, 0, 0),
    _cell("held-out", "facts", "> 60", 5, 28, 5, 1, 5, 2, 0, 0),
    _cell("held-out", "facts", "≤ 10", 1, 7, 1, 0, 1, 0, 0, 0),
    _cell("held-out", "smollm2", "11–60", 10, 50, 10, 0, 9, 0, 0, 0),
    _cell("held-out", "smollm2", "> 60", 8, 51, 8, 3, 8, 19, 0, 0),
    _cell("held-out", "smollm2", "≤ 10", 9, 62, 8, 0, 7, 0, 4, 0),
    _cell("tuning", "facts", "11–60", 20, 32, 20, 0, 19, 0, 0, 0),
    _cell("tuning", "facts", "> 60", 8, 41, 8, 0, 8, 1, 0, 0),
    _cell("tuning", "facts", "≤ 10", 1, 2, 1, 0, 1, 0, 0, 0),
    _cell("tuning", "smollm2", "11–60", 14, 48, 14, 1, 12, 1, 0, 0),
    _cell("tuning", "smollm2", "> 60", 7, 63, 7, 1, 7, 14, 0, 0),
    _cell("tuning", "smollm2", "≤ 10", 6, 71, 6, 0, 4, 0, 2, 0),
)  # fmt: skip
