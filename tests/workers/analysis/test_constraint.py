"""Measures of a kept constraint, compared with tables computed by hand."""

import numpy as np
import pytest

from tests.cases import each_case
from workers.analysis.constraint import ConstraintSummary, Peak, Stay, find_peak, find_stay, summarise_constraint

X = np.array([10.0, 20.0, 30.0, 50.0, 60.0])


def summary_of(*j_c, threshold=0.0, x=X):
    return summarise_constraint(x, np.array(j_c), threshold)


# steps 10, 20, 30, 50, 60: a value holds for 10, 10, 20, 10; from 10 on 50 in all
TABLE = [
    # never violated
    ((-1, -1, -2, -1, 0), ConstraintSummary(0, 0, None, 0, 0, 0)),
    # always violated
    ((1, 2, 3, 1, 1), ConstraintSummary(50, 1, 3, None, None, None)),
    # falls below at 30 and stays: violated for 20, met and settled 20 after the start
    ((4, 2, -1, -1, 0), ConstraintSummary(20, 0.4, 4, 20, 0, 20)),
    # met at 20, violated again from 30 to 50 by 3, settles at 50
    ((5, -1, 3, -1, -1), ConstraintSummary(30, 0.6, 5, 10, 3, 40)),
    # met at once, and violated by its last value: that one holds for nothing, and it has not settled
    ((0, 0, 0, 0, 2), ConstraintSummary(0, 0, 2, 0, 2, None)),
]


@pytest.mark.parametrize(("j_c", "table"), TABLE)
def test_constraint_summary_matches_computation_by_hand(j_c, table):
    assert summary_of(*j_c) == table


@pytest.mark.parametrize(("j_c", "table"), TABLE)
def test_threshold_shifts_constraint(j_c, table):
    assert summary_of(*(value + 2.5 for value in j_c), threshold=2.5) == table
    moving = np.array([0.0, 1.0, -3.0, 2.0, 5.0])
    assert summary_of(*(np.array(j_c) + moving), threshold=moving) == table


def test_missing_values_keep_previous_value():
    assert summary_of(4, np.nan, -1, np.inf, 0) == ConstraintSummary(20, 0.4, 4, 20, 0, 20)


def test_single_point_has_no_share_of_time():
    assert summarise_constraint(X[:1], np.array([1.0])) == ConstraintSummary(0, None, 1, None, None, None)


def test_no_points_give_no_summary():
    assert summary_of(*[np.nan] * 5) is None
    assert find_peak(X, np.full(5, np.nan)) is None


def test_lambda_peak_is_relative_to_last_value():
    assert find_peak(X, np.array([1.0, 3.0, 2.0, 2.0, 2.0])) == Peak(3, 0.5, 10)
    assert find_peak(X, np.array([1.0, 3.0, 2.0, 2.0, 0.0])) == Peak(3, None, 10)


@each_case(
    ("multiplier", "expected"),
    [
        ((1, 2, 3, 2, 1), None),
        ((1, 5, 5, 5, 5), Stay(True, 5, 10, 4)),
        ((5, 5, 4, 5, 5), Stay(True, 5, 40, 2)),
        ((0.5, 0.1, 0.1, 0.1, 0.1), Stay(False, 0.1, 10, 4)),
        ((0.1, 0.1, 0.1, 0.1, 0.1), Stay(False, 0.1, 0, 5)),
        ((0.1, 0.1, 0.1, 0.1, 0.2), None),
        ((5, 5, 5, 5, np.nan), Stay(True, 5, 0, 4)),
    ],
)
def test_lambda_stay_begins_at_last_arrival_at_limit(multiplier, expected):
    assert find_stay(X, np.array(multiplier, float), 0.1, 5) == expected


def test_no_lambda_has_no_stay():
    assert find_stay(X[:0], X[:0], 0.1, 5) is None
