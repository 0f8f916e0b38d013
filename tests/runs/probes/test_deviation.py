"""Distances from the band by chance, in half-widths, and the colours of heat maps."""

from __future__ import annotations

import math

from runs.probes.deviation import deviation, has_band, is_outside, shade_of_deviation, value_scale
from tests.cases import each_case
from workers.records import ProbeValue


def value(number: float, null: float | None = 1.0, low: float | None = 0.5, high: float | None = 3.0) -> ProbeValue:
    return ProbeValue(number, 9, null=null, null_low=low, null_high=high)


@each_case(
    ("number", "distance", "shade"),
    [
        (1.0, 0.0, "chance"), (3.0, 1.0, "chance"), (0.5, -1.0, "chance"), (4.0, 1.5, "above-1"),
        (0.25, -1.5, "below-1"), (5.0, 2.0, "above-2"), (0.0, -2.0, "below-2"), (11.0, 5.0, "above-3"),
        (41.0, 20.0, "above-4"), (-9.0, -20.0, "below-4"), (201.0, 100.0, "above-5"), (-49.0, -100.0, "below-5"),
    ],
)  # fmt: skip
def test_distance_is_counted_in_half_widths_of_its_side(number: float, distance: float, shade: str) -> None:
    # The band 0.5 to 3 around 1 is 2 wide above and 0.5 below.
    assert deviation(value(number)) == distance
    assert shade_of_deviation(value(number)) == shade
    assert is_outside(value(number)) == (abs(distance) > 1)


def test_band_without_a_middle_has_its_own() -> None:
    assert deviation(value(4.0, null=None, low=0.0, high=2.0)) == 3.0


def test_without_a_whole_band_there_is_no_distance() -> None:
    for own in (value(4.0, low=None), value(4.0, high=None), value(4.0, None, None, None)):
        assert not has_band(own) and deviation(own) is None and shade_of_deviation(own) == "no-band"


def test_band_without_width_has_infinite_distances() -> None:
    same = {"null": 1.0, "low": 1.0, "high": 1.0}
    assert [deviation(value(number, **same)) for number in (0.0, 1.0, 2.0)] == [-math.inf, 0.0, math.inf]
    assert shade_of_deviation(value(2.0, **same)) == "above-5"


def test_values_have_five_equal_steps() -> None:
    scale = value_scale([-3.0, 0.0, 3.0])
    assert [scale.shade(value(number)) for number in (-3.0, -1.9, 0.0, 2.5, 3.0)] == [
        "value-1", "value-1", "value-3", "value-5", "value-5",
    ]  # fmt: skip
    assert [shade.words for shade in scale.shades()][:2] == ["−3…−1.80", "−1.80…−0.600"]


def test_positive_values_of_wide_range_have_steps_of_equal_ratios() -> None:
    scale = value_scale([1.0, 1e6])
    assert scale.is_log and [scale.shade(value(10.0**power)) for power in (0.5, 1.5, 5.5)] == [
        "value-1", "value-2", "value-5",
    ]  # fmt: skip
    assert not value_scale([0.0, 1e6]).is_log and not value_scale([1.0, 29.0]).is_log


def test_a_single_value_has_one_colour() -> None:
    scale = value_scale([2.5])
    assert scale.shade(value(2.5)) == "value-1" and [shade.words for shade in scale.shades()] == ["2.50"]
