import math

import pytest

from runs.charts import course, number, share
from runs.charts.chart import change


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "–"),
        (0.0, "0"),
        (1.0, "1"),
        (-45.93, "−45.9"),
        (0.2049, "0.205"),
        (0.0218, "0.0218"),
        (12345.6, "12\N{NARROW NO-BREAK SPACE}346"),
        (999.6, "1\N{NARROW NO-BREAK SPACE}000"),
        (0.0001, "1.00e−4"),
        (math.nan, "NaN"),
        (-math.inf, "−∞"),
    ],
)
def test_numbers_are_written_with_three_digits_and_a_true_minus(value, said):
    assert number(value) == said


def test_a_change_says_its_direction():
    assert change(-45.9, -7.2) == "rose from −45.9 to −7.20"
    assert change(1, 0.5) == "fell from 1 to 0.500"


def test_a_change_too_small_to_be_written_is_none():
    assert change(0.12345, 0.12349) == "stayed at 0.123"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([-45.9, -7.2], "rose from −45.9 to −7.20"),
        ([0, 0, 0], "stayed at 0"),
        ([0, 6, 0], "began and ended at 0, between 0 and 6"),
        ([2, math.nan, 2], "stayed at 2"),
        ([math.nan, math.nan], "stayed at NaN"),
        ([0.333], "0.333, its only point"),
    ],
)
def test_a_course_is_not_told_by_its_ends_alone(values, said):
    assert course(values) == said


def test_shares_are_whole_percents():
    assert share(0.777) == "78\N{NARROW NO-BREAK SPACE}%"
    assert share(None) == "–"
