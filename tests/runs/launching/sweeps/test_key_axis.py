"""Axes of a sweep's keys: values in order, ranges of many values, categories, and cells without the key."""

from __future__ import annotations

from typing import Any

import pytest

from runs.launching.sweeps.key_axis import KeyAxis, key_axis
from tests.cases import each_case


def axis_of(values: list[Any], most: int = 12, bands: int = 5) -> KeyAxis:
    return key_axis("k", [{"k": value} for value in values], most, bands)


def labels(axis: KeyAxis) -> list[str]:
    return [stop.label for stop in axis.stops]


def test_numbers_are_in_ascending_order_on_a_linear_axis():
    axis = axis_of([8, 2, 4, 2])
    assert labels(axis) == ["2", "4", "8"]
    assert [axis.position({"k": value}) for value in (2, 4, 8)] == [0.0, pytest.approx(1 / 3), 1.0]
    assert axis.scale is not None and not axis.scale.is_log


@each_case(("values", "is_log"), [([0.001, 0.1], True), ([0.002, 0.1], False), ([0, 100], False)])
def test_axis_is_logarithmic_if_positive_numbers_span_more_than_fifty_times(values, is_log):
    scale = axis_of(values).scale
    assert scale is not None and scale.is_log is is_log


def test_logarithmic_axis_spaces_powers_evenly():
    axis = axis_of([0.001, 0.01, 0.1])
    assert axis.position({"k": 0.01}) == pytest.approx(0.5)


def test_whole_number_equals_the_same_float():
    assert labels(axis_of([1, 1.0, 2])) == ["1", "2"]


def test_many_numbers_are_combined_into_ranges():
    axis = axis_of(list(range(101)))
    assert labels(axis) == ["0 to 20", "20 to 40", "40 to 60", "60 to 80", "80 to 100"]
    assert [axis.stop({"k": value}) for value in (0, 19, 20, 100)] == [0, 0, 1, 4]
    assert [label for label, _at in axis.ticks] == ["0", "20", "40", "60", "80", "100"]


def test_as_many_values_as_an_axis_holds_have_a_stop_each():
    assert labels(axis_of([1, 2, 3, 4], most=4)) == ["1", "2", "3", "4"]
    assert labels(axis_of(["a", "b", "c", "d"], most=4)) == ["a", "b", "c", "d"]
    assert axis_of([1, 2, 3, 4, 5], most=4).is_banded


def test_texts_and_truth_values_are_categories_from_the_top():
    assert labels(axis_of(["low_rank", "full"])) == ["low_rank", "full"]
    assert labels(axis_of([True, False])) == ["false", "true"]
    assert [stop.middle for stop in axis_of(["a", "b", "c"]).stops] == [1.0, 0.5, 0.0]


def test_truth_values_among_numbers_are_not_numbers():
    assert axis_of([1, True, 2]).scale is None


def test_many_categories_share_a_last_stop():
    axis = axis_of([f"v{n}" for n in range(20)], most=4)
    assert labels(axis) == ["v0", "v1", "v2", "17 more values"]
    assert axis.stop({"k": "v2"}) == 2 and axis.stop({"k": "v3"}) == axis.stop({"k": "v19"}) == 3


@each_case("values", [[1, 2, 3], ["a", "b"], list(range(50))])
def test_cells_without_the_key_have_a_stop_at_the_low_end(values):
    axis = key_axis("k", [{}, *({"k": value} for value in values)], 12, 5)
    assert axis.stops[-1].label == "not set"
    assert axis.stop({}) == len(axis.stops) - 1 and axis.position({}) == 0.0
    assert all(axis.position({"k": value}) > 0 for value in values)


def test_single_value_is_in_the_middle():
    assert axis_of([3]).position({"k": 3}) == axis_of(["a"]).position({"k": "a"}) == 0.5
