"""Agreement of raters with an interval, tie rates and n, or a reason where it is undefined."""

from __future__ import annotations

import numpy as np
import pytest

from judging.stats.agreement import Labels, build_labels, compare_all_raters, compare_raters, overall_agreement
from judging.stats.agreement.labels import NO_LABEL
from judging.stats.votes import Outcome, votes_from_arrays
from tests.judging.synthetic_votes import make_game_votes, table

A, B, TIE = Outcome.A, Outcome.B, Outcome.TIE


def two(first: str, second: str) -> Labels:
    """Return labels of two raters, a letter each: w(in), t(ie), l(oss), or . for nothing."""
    values = np.array([["wtl.".index(letter) for letter in row] for row in (first, second)])
    values[values == 3] = NO_LABEL
    return table(values)


def test_raw_agreement_is_given_with_and_without_ties():
    agreement = compare_raters(two("wwltt.", "wllwtw"), 0, 1)
    assert agreement.items == 5
    assert agreement.raw.value == pytest.approx(3 / 5)
    assert agreement.without_ties.value == pytest.approx(2 / 3)
    assert agreement.tie_rates == (2 / 5, 1 / 5)


def test_kappa_is_undefined_when_one_label_is_used():
    agreement = compare_raters(two("wwww", "wwww"), 0, 1)
    assert (agreement.raw.value, agreement.kappa.value) == (1, None)
    assert agreement.kappa.why == "n/a: chance alone agrees always where one label is all that was used"
    assert overall_agreement(two("wwww", "wwww")).alpha_nominal.value is None


def test_raters_without_shared_items_have_no_agreement():
    agreement = compare_raters(two("ww..", "..ww"), 0, 1)
    assert agreement.items == 0
    assert agreement.raw.value is agreement.kappa.value is None
    assert agreement.raw.why == "n/a: there is no item that both judged"
    assert agreement.tie_rates == (0, 0)


def test_intervals_hold_the_estimate_and_narrow_with_more_items():
    few, many = (compare_raters(two("wltw" * n, "wltl" * n), 0, 1).kappa for n in (10, 100))
    assert few.low < few.value < few.high
    assert many.high - many.low < (few.high - few.low) / 2


def test_agreement_that_is_often_undefined_has_no_interval():
    kappa = compare_raters(two("wwwl", "wwwl"), 0, 1).kappa
    assert (kappa.value, kappa.low) == (1, None)
    assert kappa.undefined > 0.2


def test_one_item_has_no_interval():
    assert compare_raters(two("w", "w"), 0, 1).raw.low is None


def test_fleiss_requires_equal_numbers_of_raters():
    assert overall_agreement(two("wlt", "wlt")).fleiss == 1
    assert overall_agreement(two("wltw", "wlt.")).fleiss == 1
    three = table(np.array([[0, 1], [0, 1], [0, NO_LABEL]]))
    assert overall_agreement(three).fleiss is None


def test_every_two_raters_are_compared():
    three = table(np.zeros((3, 2), np.int64))
    assert [agreement.raters for agreement in compare_all_raters(three)] == [("0", "1"), ("0", "2"), ("1", "2")]


def test_labels_are_independent_of_order():
    zeros = np.zeros(2, np.int64)
    ballots = votes_from_arrays(
        ("ada", "bo"), np.array([0, 1]), np.array([1, 0]), np.array([A, B]), zeros, np.array([0, 1])
    )
    coded = build_labels(ballots)
    assert [coded.row(rater).tolist() for rater in (0, 1)] == [[0], [0]]


def test_votes_in_both_orders_are_merged_into_one_label():
    ballots = make_game_votes(("ada", "bo"), (0, 1, A), (1, 0, A), (0, 1, A), (0, 1, TIE))
    ballots = votes_from_arrays(ballots.contestants, ballots.a, ballots.b, ballots.outcome, np.array([0, 0, 1, 1]))
    assert build_labels(ballots).row(0).tolist() == [1, 0]


def test_failed_judgments_are_missing():
    assert build_labels(make_game_votes(("ada", "bo"), (0, 1, Outcome.ERROR), (0, 1, B))).row(0).tolist() == [2]
