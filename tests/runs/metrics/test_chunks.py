"""Chunks give back what was put in, bit for bit, and take few bytes where the numbers allow it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from runs.metrics import POINTS, Column, pack_chunk, unpack_chunk
from runs.metrics.chunks import HEADER
from tests.cases import each_case

whole = st.integers(-(2**63), 2**63 - 1)
floats = st.floats(allow_nan=True, allow_infinity=True)


@st.composite
def columns(draw):
    n = draw(st.integers(1, 20))
    values = draw(hnp.arrays(np.float64, n, elements=floats | st.floats(width=32)))
    return Column(draw(hnp.arrays(np.int64, n, elements=whole)), draw(hnp.arrays(np.int64, n, elements=whole)), values)


def same(a, b):
    pairs = ((a.records, b.records), (a.steps, b.steps), (a.values, b.values))
    return all(packed.dtype == other.dtype and packed.tobytes() == other.tobytes() for packed, other in pairs)


def column(values):
    return Column(np.arange(len(values)), 10 * np.arange(len(values)), np.asarray(values, np.float64))


@given(columns())
def test_packing_is_bit_exact(points):
    assert same(points, unpack_chunk(pack_chunk(points)))


@each_case(
    ("values", "bytes_a_point"),
    [
        (np.random.default_rng(0).normal(size=POINTS), 8),
        (np.random.default_rng(0).normal(size=POINTS).astype(np.float32), 4),
        (np.full(POINTS, 0.1), 0.1),
        (np.full(POINTS, np.nan), 0.1),
        (1_700_000_000 + 0.25 * np.arange(POINTS), 1),
    ],
)
def test_a_point_takes_no_more_than_its_numbers_need(values, bytes_a_point):
    points = column(values)
    data = pack_chunk(points)
    assert len(data) <= bytes_a_point * POINTS + 100
    assert same(points, unpack_chunk(data))


def test_points_are_cut_into_full_chunks_and_a_rest():
    parts = list(column(np.arange(2 * POINTS + 5)).cut())
    assert [len(part) for part in parts] == [POINTS, POINTS, 5]
    assert parts[2].records[0] == 2 * POINTS


@each_case("data", [b"", b"nothing", HEADER.pack(9, 1, 1, 1), pack_chunk(column([1.0, 3.0]))[:-4]])
def test_other_bytes_are_refused(data):
    with pytest.raises(ValueError, match=r"not a chunk|version|buffer"):
        unpack_chunk(data)
