"""A difference of two ratings is decided only if its whole interval is above 0."""

from __future__ import annotations

from judging.boards.tables import decided
from runs.tables import Interval


def test_interval_that_touches_0_decides_nothing() -> None:
    differences = [Interval(5.0, low, high) for low, high in ((0.5, 9.5), (0.0, 10.0), (-1.0, 11.0), (None, None))]
    assert [decided(difference).text for difference in differences] == ["yes", "not yet", "not yet", "unknown"]
