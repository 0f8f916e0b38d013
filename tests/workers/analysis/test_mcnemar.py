"""The exact McNemar test: p-values by hand, and against SciPy's binomial test."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest

from workers.analysis.mcnemar import mcnemar_p_value


@pytest.mark.parametrize(
    ("only_first", "only_second", "p"),
    [
        (0, 0, 1.0),  # no discordant pair
        (1, 0, 1.0),  # 2 · (1/2)
        (5, 0, 2 / 32),
        (1, 6, 2 * (1 + 7) / 128),
        (3, 3, 1.0),  # 2 · (1 + 6 + 15 + 20) / 64 is above 1
    ],
)
def test_p_value_is_twice_the_lower_tail(only_first: int, only_second: int, p: float) -> None:
    assert mcnemar_p_value(only_first, only_second) == mcnemar_p_value(only_second, only_first) == pytest.approx(p)


@pytest.mark.parametrize(("only_first", "only_second"), [(12, 25), (0, 40), (180, 220), (1000, 1200)])
def test_p_value_equals_the_binomial_test(only_first: int, only_second: int) -> None:
    expected = binomtest(only_first, only_first + only_second).pvalue
    assert mcnemar_p_value(only_first, only_second) == pytest.approx(expected, rel=1e-9)


def test_negative_number_is_refused() -> None:
    with pytest.raises(ValueError, match="not -1 and 2"):
        mcnemar_p_value(-1, 2)
