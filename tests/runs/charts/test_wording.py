import math

from runs.charts import THIN, X_WORDS, course, number, share
from runs.charts.descriptions import POSITIONS, change
from tests.cases import each_case


@each_case(
    ("value", "text"),
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
def test_numbers_are_written_with_three_digits_and_a_true_minus(value, text):
    assert number(value) == text


def test_change_is_described_with_its_direction():
    assert change(-45.9, -7.2) == "rose from −45.9 to −7.20"
    assert change(1, 0.5) == "fell from 1 to 0.500"


@each_case(
    ("first", "last", "format_value", "text"),
    [
        (0.12345, 0.12349, number, "stayed at 0.123"),
        (1, 1.001, number, "stayed at 1.00"),
        (0.9999, 1, number, "stayed at 1"),
        (-40, -40.01, number, "stayed at −40.0"),
        (-0.0, 0.0, number, "stayed at 0"),
        (math.inf, math.inf, number, "stayed at ∞"),
        (0.501, 0.504, share, f"stayed at 50{THIN}%"),
        (0.501, 0.506, share, f"rose from 50{THIN}% to 51{THIN}%"),
        (1, math.nan, number, "went from 1 to NaN"),
    ],
)
def test_values_that_are_printed_alike_stayed(first, last, format_value, text):
    assert change(first, last, format_value) == text
    assert course([first, last], format_value, [0, 5]) == text


@each_case(
    ("values", "text"),
    [
        ([-45.9, -7.2], "rose from −45.9 to −7.20"),
        ([0, 0, 0], "stayed at 0"),
        ([0, 6, 0], "began and ended at 0, between 0 and 6"),
        ([2, math.nan, 2], "stayed at 2"),
        ([math.nan, math.nan], "stayed at NaN"),
        ([0.333], "0.333, its only point"),
    ],
)
def test_course_is_described_beyond_its_ends(values, text):
    assert course(values) == text


@each_case(
    ("values", "text"),
    [
        ([1, 5, 1.17], "rose from 1 to 1.17, with a maximum of 5 at step 5"),
        ([1, -5, 1.17], "rose from 1 to 1.17, with a minimum of −5 at step 5"),
        ([1.17, 5, 1], "fell from 1.17 to 1, with a maximum of 5 at step 5"),
        ([1.17, -5, 1], "fell from 1.17 to 1, with a minimum of −5 at step 5"),
        ([0, 10, 4.9], "rose from 0 to 4.90, with a maximum of 10 at step 5"),
        ([0, 10, 5], "rose from 0 to 5"),
        ([0, -2, 12, 10], "rose from 0 to 10"),
        ([0, math.nan, math.inf, 8, 1], "rose from 0 to 1, with a maximum of 8 at step 15"),
        ([1, 9, math.nan], "went from 1 to NaN"),
        ([1.004, 1.0149, 1.0051], "rose from 1.00 to 1.01"),
        ([1, 5, 1.001], "began and ended at 1.00, between 1 and 5"),
    ],
)
def test_extreme_outside_the_ends_by_half_the_range_is_described(values, text):
    assert course(values, x=[5 * i for i in range(len(values))]) == text


@each_case(
    ("axis", "position"),
    [
        ("step", "step 1600"),
        ("wall", "1970-01-01 00:26 UTC"),
        ("relative", "1600 s"),
        ("samples", "1600 responses"),
        ("tokens", "1600 tokens"),
        ("gpu_seconds", "1600 GPU seconds"),
    ],
)
def test_position_of_an_extreme_has_the_unit_of_its_axis(axis, position):
    text = course([1, 5, 1.5], x=[0, 1600, 3200], axis=axis).replace(THIN, "")
    assert text == f"rose from 1 to 1.50, with a maximum of 5 at {position}"


def test_every_axis_has_a_position():
    assert POSITIONS.keys() == X_WORDS.keys()


def test_extreme_of_shares_is_in_percent():
    text = course([0.2, 0.9, 0.25], share, x=[0, 20, 40])
    assert text == f"rose from 20{THIN}% to 25{THIN}%, with a maximum of 90{THIN}% at step 20"


def test_shares_are_whole_percents():
    assert share(0.777) == "78\N{NARROW NO-BREAK SPACE}%"
    assert share(None) == "–"


def test_shares_near_0_and_1_have_decimals():
    texts = [share(value).removesuffix(f"{THIN}%") for value in (0, 0.004, 0.00041, 0.0096, 0.01, 0.996, 0.9996, 1)]
    assert texts == ["0", "0.4", "0.04", "1", "1", "99.6", "99.96", "100"]
