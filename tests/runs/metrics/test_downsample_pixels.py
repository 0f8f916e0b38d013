"""The down-sampled line lights the very pixels that the full one lights."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.metrics import m4
from tests.cases import each_case

HEIGHT = 300


def raster(x, y, px, span, heights):
    """Pixels (column, row) that a line through the points touches. A NaN breaks the line; a lone point is a dot."""
    across = np.clip((x - span[0]) / (span[1] - span[0]) * px, 0, np.nextafter(px, 0))
    up = (y - heights[0]) / ((heights[1] - heights[0]) or 1.0) * (HEIGHT - 1)
    solid = ~np.isnan(y)
    columns, low, high = _crossings(across, up, np.flatnonzero(solid[:-1] & solid[1:]))
    columns, low, high = np.r_[across[solid], columns], np.r_[up[solid], low], np.r_[up[solid], high]
    # Each column counts how many stretches begin at a row and how many have ended before it.
    edges = np.zeros((px, HEIGHT + 1), int)
    np.add.at(edges, (columns.astype(int), low.astype(int)), 1)
    np.add.at(edges, (columns.astype(int), high.astype(int) + 1), -1)
    return edges.cumsum(axis=1)[:, :HEIGHT] > 0


def _crossings(across, up, starts):
    """Return (column, lowest height, highest height) of every column of pixels that each stretch goes through.

    A stretch leads from the point of an index in `starts` to the next one.
    """
    first, last = across[starts].astype(int), across[starts + 1].astype(int)
    spans = last - first + 1
    at = np.repeat(starts, spans)
    columns = np.repeat(first - np.r_[0, spans.cumsum()[:-1]], spans) + np.arange(spans.sum())
    ends = [_height(across, up, at, columns, side) for side in (0, 1)]
    return columns, np.minimum(*ends), np.maximum(*ends)


def _height(across, up, at, columns, side):
    """Return how high a stretch enters (side 0) or leaves (side 1) a column. One straight up does so at its ends."""
    width = across[at + 1] - across[at]
    covered = np.clip(columns + side, across[at], across[at + 1]) - across[at]
    share = np.divide(covered, width, out=np.full_like(width, side), where=width > 0)
    # Exact at both ends, so that a stretch within a column never reaches beyond its points.
    return (1 - share) * up[at] + share * up[at + 1]


def line(seed, n, spikes, gaps, plateau):
    """Return a random walk with spikes, gaps (single, and of neighbours) and a plateau, at uneven steps."""
    rng = np.random.default_rng(seed)
    x, y = np.cumsum(rng.integers(1, 4, n)).astype(float), np.cumsum(rng.normal(size=n))
    y[rng.integers(0, n, spikes)] += 200 * rng.normal(size=spikes)
    start = rng.integers(0, n)
    y[start : start + plateau] = y[start]
    for gap in rng.integers(0, n, gaps):
        y[gap : gap + rng.integers(1, 4)] = np.nan
    return x, y


@each_case("px", [400, 800, 1600])
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3300, 9000), st.integers(0, 20), st.integers(0, 30), st.integers(0, 2000))
def test_the_picture_is_the_same(px, seed, n, spikes, gaps, plateau):
    x, y = line(seed, n, spikes, gaps, plateau)
    if np.isnan(y).all():
        return
    indices = m4(x, y, px)
    span, heights = (x.min(), x.max()), (np.nanmin(y), np.nanmax(y))
    full, sampled = raster(x, y, px, span, heights), raster(x[indices], y[indices], px, span, heights)
    assert np.array_equal(full, sampled)


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.sampled_from([1.0, 0.1, 1e-9, 1e12]), st.floats(-0.5, 0.5))
def test_the_quick_way_for_a_whole_line_keeps_the_same_points(seed, px, unit, beyond):
    rng = np.random.default_rng(seed)
    n = 2 * px + 1 + int(rng.integers(0, 2000))
    # Whole steps fall on the edges of columns, and some occur twice.
    x, y = unit * np.cumsum(rng.integers(0, 3, n)), np.round(rng.normal(size=n), 1)
    wide = x[-1] - x[0]
    span = (x[0] - max(beyond, 0) * wide, x[-1] + min(beyond, 0) * wide + (wide == 0))
    whole = m4(x, y, px, span)
    slow = m4(np.append(x, x[-1]), np.append(y, np.nan), px, span)
    assert list(whole) == list(slow[:-1])
