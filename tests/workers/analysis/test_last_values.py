"""The last x that all curves of a group have, and the values there."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from tests.cases import each_case
from workers.analysis.last_values import Line, last_values


def curve(x: Sequence[float], y: Sequence[float] | None = None) -> Line:
    return np.array(x, float), np.array(x if y is None else y, float)


@each_case(
    ("lines", "x", "values", "is_uneven"),
    [
        ([[0, 5, 10], [0, 5, 10]], 10, [10, 10], False),
        ([[0, 5, 10], [0, 5]], 5, [5, 5], True),
        ([[0, 10, 20, 30], [0, 10, 17]], 10, [10, 10], True),
        ([[0, 7, 14], [0, 10, 20], [0, 14, 20]], 0, [0, 0, 0], True),
        ([[0, 10], [1, 11]], None, [math.nan, math.nan], True),
        ([[0, 10], []], 10, [10, math.nan], False),
        ([[0, 10]], 10, [10], False),
        ([[], []], None, [math.nan, math.nan], False),
        ([], None, [], False),
    ],
    ids=["even", "one ended", "one ended between", "start alone", "none", "one empty", "one", "all empty", "no curve"],
)
def test_last_x_is_the_largest_that_all_curves_have(
    lines: list[list[float]], x: float | None, values: list[float], is_uneven: bool
) -> None:
    end = last_values([curve(line) for line in lines])
    assert (end.x, end.is_uneven) == (x, is_uneven)
    assert end.values.tolist() == pytest.approx(values, nan_ok=True)


def test_values_that_are_not_finite_are_no_points() -> None:
    end = last_values(
        [curve([0, 5, 10], [1, 2, math.nan]), curve([0, 5, 10], [3, 4, 5]), curve([0, 5], [math.inf] * 2)]
    )
    assert (end.x, end.ends) == (5, (5, 10))
    assert end.values.tolist() == pytest.approx([2, 4, math.nan], nan_ok=True)


@each_case(
    ("lines", "x", "values"),
    [([[0, 4, 8], [1, 5, 9]], 8, [8, 8]), ([[0, 1], [2, 3]], None, [math.nan, math.nan])],
    ids=["interpolated", "apart"],
)
def test_axis_without_common_points_ends_where_every_curve_reaches(
    lines: list[list[float]], x: float | None, values: list[float]
) -> None:
    end = last_values([curve(line) for line in lines], share_points=False)
    assert end.x == x
    assert end.values.tolist() == pytest.approx(values, nan_ok=True)
