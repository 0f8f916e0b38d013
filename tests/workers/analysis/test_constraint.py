"""How well a constraint was kept, against tables that a hand has computed."""

import numpy as np
import pytest

from workers.analysis.constraint import Kept, Peak, Stay, kept, peak, stay

X = np.array([10.0, 20.0, 30.0, 50.0, 60.0])


def of(*j_c, threshold=0.0, x=X):
    return kept(x, np.array(j_c), threshold)


# steps 10, 20, 30, 50, 60: a value holds for 10, 10, 20, 10; from 10 on 50 in all
TABLE = [
    # never violated
    ((-1, -1, -2, -1, 0), Kept(0, 0, None, 0, 0, 0)),
    # always violated
    ((1, 2, 3, 1, 1), Kept(50, 1, 3, None, None, None)),
    # falls below at 30 and stays: violated for 20, met and settled 20 after the start
    ((4, 2, -1, -1, 0), Kept(20, 0.4, 4, 20, 0, 20)),
    # met at 20, violated again from 30 to 50 by 3, settles at 50
    ((5, -1, 3, -1, -1), Kept(30, 0.6, 5, 10, 3, 40)),
    # met at once, and violated by its last value: that one holds for nothing, and it has not settled
    ((0, 0, 0, 0, 2), Kept(0, 0, 2, 0, 2, None)),
]


@pytest.mark.parametrize(("j_c", "table"), TABLE)
def test_it_is_what_a_hand_computes(j_c, table):
    assert of(*j_c) == table


@pytest.mark.parametrize(("j_c", "table"), TABLE)
def test_a_threshold_moves_the_bound(j_c, table):
    assert of(*(value + 2.5 for value in j_c), threshold=2.5) == table
    moving = np.array([0.0, 1.0, -3.0, 2.0, 5.0])
    assert of(*(np.array(j_c) + moving), threshold=moving) == table


def test_what_was_not_measured_is_left_out_and_the_value_before_holds():
    assert of(4, np.nan, -1, np.inf, 0) == Kept(20, 0.4, 4, 20, 0, 20)


def test_one_point_has_no_share_of_time():
    assert kept(X[:1], np.array([1.0])) == Kept(0, None, 1, None, None, None)


def test_of_no_points_nothing_is_said():
    assert of(*[np.nan] * 5) is None
    assert peak(X, np.full(5, np.nan)) is None


def test_the_peak_of_lambda_is_told_against_the_last_one():
    assert peak(X, np.array([1.0, 3.0, 2.0, 2.0, 2.0])) == Peak(3, 0.5, 10)
    assert peak(X, np.array([1.0, 3.0, 2.0, 2.0, 0.0])) == Peak(3, None, 10)


@pytest.mark.parametrize(
    ("multiplier", "found"),
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
def test_lambda_stays_on_a_limit_from_where_it_left_it_no_more(multiplier, found):
    assert stay(X, np.array(multiplier, float), 0.1, 5) == found


def test_of_no_lambda_no_stay_is_told():
    assert stay(X[:0], X[:0], 0.1, 5) is None
