"""M4 retains what a line chart displays: first, last, lowest and highest of each pixel column, and every gap."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from runs.metrics import m4

heights = hnp.arrays(
    np.float64,
    st.integers(1, 150),
    elements=st.floats(-1e6, 1e6) | st.just(np.nan) | st.just(np.inf) | st.just(-np.inf),
)


def columns(x, px):
    span = (x.max() - x.min()) or 1.0
    return np.clip((x - x.min()) / span * px, 0, px - 1).astype(int)


@given(heights, st.integers(1, 40))
def test_every_column_keeps_its_first_last_lowest_and_highest(y, px):
    x = np.cumsum(np.arange(len(y)) % 3 + 1).astype(float)
    indices = m4(x, y, px)
    column = columns(x, px)
    for c in np.unique(column):
        full = np.flatnonzero((column == c) & ~np.isnan(y))
        in_column = np.intersect1d(full, indices)
        if len(full):
            assert (in_column[0], in_column[-1]) == (full[0], full[-1])
            assert (y[in_column].min(), y[in_column].max()) == (y[full].min(), y[full].max())


@given(heights, st.integers(1, 40))
def test_a_line_breaks_where_the_data_breaks(y, px):
    indices = m4(np.arange(len(y), dtype=float), y, px)
    for a, b in pairwise(indices):
        between = np.isnan(y[a + 1 : b]).any()
        assert not between or np.isnan(y[a]) or np.isnan(y[b])


def test_a_solid_line_needs_at_most_four_points_a_column():
    y = np.random.default_rng(0).normal(size=100_000)
    indices = m4(np.arange(100_000.0), y, 800)
    assert len(indices) <= 4 * 800
    assert (np.diff(indices) > 0).all()


def test_a_single_spike_survives():
    y = np.zeros(100_000)
    y[54_321] = 1.0
    assert 54_321 in m4(np.arange(100_000.0), y, 100)


def test_few_points_are_left_alone():
    assert list(m4(np.arange(20.0), np.zeros(20), 10)) == list(range(20))


def test_the_columns_are_those_of_the_span():
    x, y = np.arange(1000.0), np.sin(np.arange(1000.0))
    assert len(m4(x, y, 100, span=(0.0, 100_000.0))) <= 4


def test_pieces_are_lines_of_their_own():
    x = np.r_[np.arange(100.0), np.arange(100.0)]
    indices = m4(x, x, 2, pieces=np.repeat([0, 1], 100))
    assert {0, 99, 100, 199} <= set(indices)


def test_a_chart_without_width_is_refused():
    with pytest.raises(ValueError, match="px must be at least 1"):
        m4(np.arange(3.0), np.arange(3.0), 0)


@given(heights, st.integers(1, 10), st.integers(0, 120), st.integers(1, 120))
def test_a_closer_look_keeps_the_whole_and_what_its_own_columns_need(y, px, start, width):
    x = np.arange(len(y), dtype=float)
    zoom = float(start), float(start + width)
    indices = set(m4(x, y, px, zoom=zoom).tolist())
    assert set(m4(x, y, px).tolist()) <= indices
    inside = np.flatnonzero((x >= zoom[0]) & (x <= zoom[1]))
    closely = inside[m4(x[inside], y[inside], px, zoom)] if len(inside) else []
    assert {int(i) for i in closely} <= indices
    if len(inside):
        assert {i for i in (int(inside[0]) - 1, int(inside[-1]) + 1) if 0 <= i < len(y)} <= indices
