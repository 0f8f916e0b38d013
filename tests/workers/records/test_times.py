"""Times are Unix seconds; of other numbers the likely unit is named."""

import math
from datetime import UTC, datetime

import pytest

from tests.cases import each_case
from workers.records import Metric, pack, unpack
from workers.records.times import describe_bad_time, is_time, likely_unit, to_datetime

NOW = 1_764_428_400.0


@each_case(
    ("number", "unit"),
    [
        (NOW * 1e3, "milliseconds (ms)"),
        (NOW * 1e6, "microseconds (µs)"),
        (NOW * 1e9, "nanoseconds (ns)"),
        (1.7e18, "nanoseconds (ns)"),
        (1_000_000_000_000, "milliseconds (ms)"),
        (1e300, ""),
        (-1.0, ""),
        (-NOW * 1e3, ""),
        (math.nan, ""),
        (math.inf, ""),
        (-math.inf, ""),
    ],
)
def test_number_that_is_no_time_has_its_likely_unit(number, unit):
    assert not is_time(number)
    assert (likely_unit(number), to_datetime(number)) == (unit, None)
    assert (f"looks like {unit}, not Unix seconds" if unit else "is no time in Unix seconds") in describe_bad_time(
        number
    )


def test_times_are_seconds_from_1970_to_5138():
    assert to_datetime(NOW) == datetime(2025, 11, 29, 15, 0, tzinfo=UTC)
    assert to_datetime(0.0) == datetime(1970, 1, 1, tzinfo=UTC)
    assert to_datetime(math.nextafter(1e11, 0)).year == 5138
    assert all(is_time(number) and not likely_unit(number) for number in (0, 1.5, NOW, 4e9))


@pytest.mark.parametrize("t", [math.nan, math.inf, -1.0])
def test_record_with_a_bad_time_is_strict_json(t):
    line = pack(0, t, Metric(1, {"a": 1.0}))
    assert b"nan" not in line and b":inf" not in line
    assert repr(unpack(line).t) == repr(t)
