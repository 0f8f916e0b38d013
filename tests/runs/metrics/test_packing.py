"""Packed batches give back what was put in, bit for bit."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.metrics import Block, block, pack, unpack
from tests.cases import each_case
from workers.records import Metric

names = st.text(min_size=1, max_size=4)
numbers = st.floats(allow_nan=True, allow_infinity=True)
steps = st.integers(-(2**63), 2**63 - 1)
times = st.floats(allow_nan=False, allow_infinity=False)
metrics = st.tuples(
    times, st.builds(Metric, step=steps, values=st.dictionaries(names, numbers), axes=st.dictionaries(names, numbers))
)


def same(a: Block, b: Block) -> bool:
    columns = ((a.steps, b.steps), (a.t, b.t), (a.cuts, b.cuts), (a.rows, b.rows), (a.values, b.values))
    return a.keys == b.keys and all(x.dtype == y.dtype and x.tobytes() == y.tobytes() for x, y in columns)


@given(st.lists(metrics, min_size=1, max_size=6))
def test_packing_is_bit_exact(written):
    points = block(written)
    assert same(points, unpack(points.keys, pack(points)))


def test_a_column_holds_one_key_with_the_record_of_each_value():
    points = block(
        [(1.0, Metric(5, {"a": 1.0})), (2.0, Metric(6, {"b": 9.0})), (3.0, Metric(7, {"a": 2.0}, {"tokens": 8.0}))]
    )
    rows, values = points.column("a")
    assert list(points.steps[rows]) == [5, 7]
    assert list(values) == [1.0, 2.0]
    assert list(points.column("axes/tokens")[1]) == [8.0]
    assert len(points.column("unknown")[1]) == 0


def test_an_axis_wins_over_a_value_of_its_name():
    points = block([(1.0, Metric(0, {"axes/tokens": 1.0}, {"tokens": 2.0}))])
    assert list(points.column("axes/tokens")[1]) == [2.0]


def test_nan_and_infinities_are_preserved():
    points = block([(0.0, Metric(0, {"a": math.nan, "b": math.inf, "c": -math.inf}))])
    back = unpack(points.keys, pack(points))
    assert np.isnan(back.column("a")[1][0])
    assert [back.column(k)[1][0] for k in "bc"] == [math.inf, -math.inf]


@each_case("data", [b"", b"\x01", b"\x02" + bytes(12) + b"x\x9cc\x00\x00\x00\x01\x00\x01"])
def test_bytes_that_are_no_batch_are_refused(data):
    with pytest.raises(ValueError, match="not a packed batch"):
        unpack([], data)


def test_a_thousand_smooth_points_take_few_bytes():
    points = block([(1.7e9 + i, Metric(i, {"loss": round(1 / (i + 1), 3)})) for i in range(1000)])
    assert len(pack(points)) / points.cells < 12
