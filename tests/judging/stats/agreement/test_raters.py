"""How far raters agree is said with an interval, tie rates and n, and not at all where it is not defined."""

from __future__ import annotations

import numpy as np
import pytest

from judging.stats.agreement import Labels, labels, pair, pairs, together
from judging.stats.agreement.labels import NOTHING
from judging.stats.votes import Outcome, votes
from tests.judging.synthetic_votes import table, told

A, B, TIE = Outcome.A, Outcome.B, Outcome.TIE


def two(one: str, other: str) -> Labels:
    """Labels of two raters, a letter each: w(in), t(ie), l(oss), or . for nothing."""
    values = np.array([["wtl.".index(letter) for letter in row] for row in (one, other)])
    values[values == 3] = NOTHING
    return table(values)


def test_raw_agreement_is_told_with_ties_and_without():
    found = pair(two("wwltt.", "wllwtw"), 0, 1)
    assert found.items == 5
    assert found.raw.value == pytest.approx(3 / 5)
    assert found.without_ties.value == pytest.approx(2 / 3)
    assert found.tie_rates == (2 / 5, 1 / 5)


def test_kappa_of_raters_who_use_one_label_is_not_defined():
    found = pair(two("wwww", "wwww"), 0, 1)
    assert (found.raw.value, found.kappa.value) == (1, None)
    assert found.kappa.why == "n/a: chance alone agrees always where one label is all that was used"
    assert together(two("wwww", "wwww")).alpha_nominal.value is None


def test_raters_who_shared_nothing_are_told_so():
    found = pair(two("ww..", "..ww"), 0, 1)
    assert found.items == 0
    assert found.raw.value is found.kappa.value is None
    assert found.raw.why == "n/a: there is no item that both judged"
    assert found.tie_rates == (0, 0)


def test_intervals_hold_the_estimate_and_narrow_with_more_items():
    few, many = (pair(two("wltw" * n, "wltl" * n), 0, 1).kappa for n in (10, 100))
    assert few.low < few.value < few.high
    assert many.high - many.low < (few.high - few.low) / 2


def test_agreement_that_is_often_undefined_has_no_interval():
    found = pair(two("wwwl", "wwwl"), 0, 1).kappa
    assert (found.value, found.low) == (1, None)
    assert found.undefined > 0.2


def test_one_item_has_no_interval():
    assert pair(two("w", "w"), 0, 1).raw.low is None


def test_fleiss_is_for_equal_numbers_of_raters_alone():
    assert together(two("wlt", "wlt")).fleiss == 1
    assert together(two("wltw", "wlt.")).fleiss == 1
    three = table(np.array([[0, 1], [0, 1], [0, NOTHING]]))
    assert together(three).fleiss is None


def test_every_two_raters_are_compared():
    three = table(np.zeros((3, 2), np.int64))
    assert [one.raters for one in pairs(three)] == [("0", "1"), ("0", "2"), ("1", "2")]


def test_a_vote_counts_alike_whoever_stood_first():
    zeros = np.zeros(2, np.int64)
    made = votes(("ada", "bo"), np.array([0, 1]), np.array([1, 0]), np.array([A, B]), zeros, np.array([0, 1]))
    found = labels(made)
    assert [found.row(rater).tolist() for rater in (0, 1)] == [[0], [0]]


def test_who_judged_both_ways_round_is_taken_at_both():
    made = told(("ada", "bo"), (0, 1, A), (1, 0, A), (0, 1, A), (0, 1, TIE))
    made = votes(made.contestants, made.a, made.b, made.outcome, np.array([0, 0, 1, 1]))
    assert labels(made).row(0).tolist() == [1, 0]


def test_failed_judgments_are_missing():
    assert labels(told(("ada", "bo"), (0, 1, Outcome.ERROR), (0, 1, B))).row(0).tolist() == [2]
