"""The exact tests hold their level at every rate, agree with scipy, and with enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import barnard_exact, binom

from tests.cases import each_case
from workers.analysis.exact_tests import fall_p_value, rise_interval, rise_p_value, tail

RATES = np.linspace(0.0, 1.0, 41)


@each_case(
    "table", [(5, 8, 0, 8), (8, 8, 3, 8), (30, 72, 20, 72), (40, 160, 20, 160), (7, 9, 2, 30), (160, 160, 0, 160)]
)
def test_rise_without_margin_is_barnards_test(table: tuple[int, int, int, int]) -> None:
    count, n, before, m = table
    expected = barnard_exact([[count, before], [n - count, m - before]], alternative="greater", n=256).pvalue
    assert rise_p_value(*table) == pytest.approx(expected, rel=1e-3, abs=1e-14)
    assert fall_p_value(n - count, n, m - before, m) == pytest.approx(expected, rel=1e-3, abs=1e-14)


@each_case("level", [0.0125, 0.05])
@each_case("margin", [0.0, 0.05, 0.3])
def test_tests_of_two_shares_hold_their_level_at_every_rate(margin: float, level: float) -> None:
    n, m = 9, 7
    tables = list(itertools.product(range(n + 1), range(m + 1)))
    for test, rates_now in (
        (rise_p_value, np.minimum(RATES + margin, 1.0)),
        (fall_p_value, RATES * (1 - margin)),
    ):
        refused = [table for table in tables if test(table[0], n, table[1], m, margin) <= level]
        assert refused
        error = sum(binom.pmf(x, n, rates_now) * binom.pmf(y, m, RATES) for x, y in refused)
        # Beyond a rate of 1 - margin the rise cannot be as large as the margin.
        valid = RATES + margin <= 1 if test is rise_p_value else RATES <= 1
        assert error[valid].max() <= level * (1 + 1e-6)


def test_five_wrong_of_eight_after_none_fires_at_a_half_of_the_first_level() -> None:
    assert fall_p_value(3, 8, 8, 8, 0.1) <= 0.0125
    assert fall_p_value(7, 8, 8, 8, 0.1) > 0.3


def test_unequal_rates_of_prompts_do_not_raise_the_error() -> None:
    rng = np.random.default_rng(1)
    rates = np.repeat([0.0, 0.05, 0.5, 1.0], 8)
    now, before = (rng.binomial(1, rates, (4000, 32)).sum(axis=1) for _ in range(2))
    refused = [rise_p_value(int(x), 32, int(y), 32) <= 0.05 for x, y in zip(now, before, strict=True)]
    assert np.mean(refused) <= 0.05


def test_tail_is_the_binomial_tail_and_holds_for_unequal_rates() -> None:
    assert tail(3, 10, 0.1) == pytest.approx(binom.sf(2, 10, 0.1))
    assert tail(0, 10, 0.1) == 1.0 and tail(10, 10, 0.0) == 0.0 and tail(1, 10, 1.0) == 1.0
    # One draw of ten with a rate of 0.1: one success has this probability, and the binomial tail only 0.0956.
    assert tail(1, 10, 0.01) >= 0.1


def test_interval_holds_the_difference_and_matches_the_test() -> None:
    low, high = rise_interval(40, 160, 20, 160)
    assert low < 0.125 < high and low > 0
    assert rise_p_value(40, 160, 20, 160, low - 0.01) < 0.025 < rise_p_value(40, 160, 20, 160, low + 0.01)
    assert rise_interval(0, 8, 0, 8) == pytest.approx((-rise_interval(0, 8, 0, 8)[1], rise_interval(0, 8, 0, 8)[1]))
    assert rise_interval(8, 8, 0, 8)[1] == pytest.approx(1.0)


@each_case("table", [(3, 8, 8, 8), (20, 32, 9, 32), (0, 32, 30, 32), (40, 100, 35, 100)])
def test_ends_of_the_interval_are_where_the_test_turns(table: tuple[int, int, int, int]) -> None:
    low, high = rise_interval(*table)
    count, n, before, m = table
    assert low == -1 or rise_p_value(*table, low) <= 0.025 < rise_p_value(*table, low + 5e-4)
    assert high == 1 or rise_p_value(before, m, count, n, -high) <= 0.025 < rise_p_value(
        before, m, count, n, 5e-4 - high
    )


def test_impossible_counts_are_refused() -> None:
    for table in ((9, 8, 0, 8), (0, 0, 0, 8), (-1, 8, 0, 8)):
        with pytest.raises(ValueError, match="needs counts"):
            rise_p_value(*table)
