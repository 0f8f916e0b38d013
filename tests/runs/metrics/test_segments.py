"""Parts in chunks and in batches are one column, whichever way they are joined."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from runs.metrics import Column, pack_chunk
from runs.metrics.chunks import Packed
from runs.metrics.packing import Progression, progression_of
from runs.metrics.segments import SeriesPoints
from tests.cases import each_case

EDGES = st.sampled_from([-(2**63), -(2**62), -1, 0, 1, 2**62, 2**63 - 1])
floats = st.floats(width=32) | st.floats()


@st.composite
def steps(draw):
    """Return steps: often a progression, often one that continues the last part, sometimes any numbers."""
    n, start, apart = draw(st.integers(1, 6)), draw(st.integers(-3, 12) | EDGES), draw(st.integers(-2, 3) | EDGES)
    if draw(st.booleans()):
        return draw(hnp.arrays(np.int64, n, elements=st.integers(0, 5) | EDGES))
    return np.array([(start + k * apart + 2**63) % 2**64 - 2**63 for k in range(n)], np.int64)


@st.composite
def parts(draw):
    """Draw (process, cursor, points), some packed; processes ascend."""
    out, process = [], 0
    for cursor in range(draw(st.integers(1, 5))):
        own = draw(steps())
        column = Column(np.arange(len(own)) + 10 * cursor, own, draw(hnp.arrays(np.float64, len(own), elements=floats)))
        process += draw(st.integers(0, 4)) == 4
        out.append((process, cursor, Packed.open(pack_chunk(column)) if draw(st.booleans()) else column))
    return out


@settings(max_examples=40)
@given(parts())
def test_columns_are_the_parts_one_after_the_other(segments):
    whole = SeriesPoints.from_parts(segments)
    assert whole.cursor == len(segments) - 1
    assert len(whole) == len(whole.segments) == sum(len(points) for _, _, points in segments)
    assert whole.segments.tolist() == [process for process, _, points in segments for _ in range(len(points))]
    for name, kind in (("records", np.int64), ("steps", np.int64), ("values", np.float64)):
        joined = np.concatenate([getattr(points, name) for _, _, points in segments]).astype(kind)
        assert getattr(whole, name).tobytes() == joined.tobytes()


@settings(max_examples=40)
@given(parts())
def test_a_line_is_the_steps_and_ascends_where_they_do(segments):
    whole = SeriesPoints.from_parts(segments)
    if (line := whole.line) is not None:
        joined = np.concatenate([points.steps for _, _, points in segments])
        assert line.to_array().tolist() == joined.tolist()
        assert line.ascends == bool((joined[1:] > joined[:-1]).all())
        assert len({process for process, _, _ in segments}) == 1


def test_steps_with_an_overflowing_difference_are_no_line():
    ends = Column(np.arange(2), np.array([-1, 2**63 - 1]), np.zeros(2))
    whole = SeriesPoints.from_parts([(0, 1, Packed.open(pack_chunk(ends)))])
    assert whole.line is None
    assert whole.steps.tolist() == [-1, 2**63 - 1]


@each_case("cut", [1, 2, 50, 99])
def test_even_steps_stay_a_line_at_any_cut(cut):
    column = Column(np.arange(100), 5 + 3 * np.arange(100), np.zeros(100))
    segments = [(0, 1, Packed.open(pack_chunk(column[:cut]))), (0, 2, column[cut:])]
    assert SeriesPoints.from_parts(segments).line == Progression(5, 3, 100)
    assert SeriesPoints.from_parts([segments[0], (1, *segments[1][1:])]).line is None


@given(steps(), steps())
def test_two_progressions_are_one_only_where_their_numbers_are(a, b):
    first, second = progression_of(a), progression_of(b)
    if first and second and (both := first.joined(second)):
        assert both.to_array().tolist() == [*a.tolist(), *b.tolist()]


def test_values_are_looked_up_by_their_record():
    counter = SeriesPoints.from_parts([(0, 1, Column(np.array([0, 2, 5]), np.arange(3), np.array([10.0, 20.0, 30.0])))])
    points = SeriesPoints.from_parts([(0, 1, Column(np.array([0, 1, 2, 6]), np.arange(4), np.zeros(4)))])
    assert counter.at(counter).tolist() == [10, 20, 30]
    np.testing.assert_array_equal(counter.at(points), [10, np.nan, 20, np.nan])
