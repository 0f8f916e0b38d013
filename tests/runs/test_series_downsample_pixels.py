"""The down-sampled line lights the very pixels that the full one lights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.series import m4

HEIGHT = 300


def raster(x, y, px, span, heights):
    """Pixels (column, row) that a line through the points touches. A NaN breaks the line; a lone point is a dot."""
    across = np.clip((x - span[0]) / (span[1] - span[0]) * px, 0, np.nextafter(px, 0))
    up = (y - heights[0]) / ((heights[1] - heights[0]) or 1.0) * (HEIGHT - 1)
    lit = np.zeros((px, HEIGHT), bool)
    for i in np.flatnonzero(~np.isnan(y)):
        lit[int(across[i]), int(up[i])] = True
    for a in np.flatnonzero(~np.isnan(y[:-1]) & ~np.isnan(y[1:])):
        for column in range(int(across[a]), int(across[a + 1]) + 1):
            low, high = sorted(_clipped(across[a : a + 2], up[a : a + 2], column))
            lit[column, int(low) : int(high) + 1] = True
    return lit


def _clipped(across, up, column):
    """Heights at which a stretch enters and leaves a column of pixels."""
    ends = np.clip([column, column + 1], across[0], across[1])
    return np.interp(ends, across, up) if across[1] > across[0] else up


def line(seed, n, spikes, gaps, plateau):
    """A random walk with spikes, gaps (single, and of neighbours) and a plateau, at uneven steps."""
    rng = np.random.default_rng(seed)
    x, y = np.cumsum(rng.integers(1, 4, n)).astype(float), np.cumsum(rng.normal(size=n))
    y[rng.integers(0, n, spikes)] += 200 * rng.normal(size=spikes)
    start = rng.integers(0, n)
    y[start : start + plateau] = y[start]
    for gap in rng.integers(0, n, gaps):
        y[gap : gap + rng.integers(1, 4)] = np.nan
    return x, y


@pytest.mark.parametrize("px", [400, 800, 1600])
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3300, 9000), st.integers(0, 20), st.integers(0, 30), st.integers(0, 2000))
def test_the_picture_is_the_same(px, seed, n, spikes, gaps, plateau):
    x, y = line(seed, n, spikes, gaps, plateau)
    if np.isnan(y).all():
        return
    kept = m4(x, y, px)
    span, heights = (x.min(), x.max()), (np.nanmin(y), np.nanmax(y))
    full, drawn = raster(x, y, px, span, heights), raster(x[kept], y[kept], px, span, heights)
    assert np.array_equal(full, drawn)


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.sampled_from([1.0, 0.1, 1e-9, 1e12]), st.floats(-0.5, 0.5))
def test_the_quick_way_for_a_whole_line_keeps_the_same_points(seed, px, unit, beyond):
    rng = np.random.default_rng(seed)
    n = 2 * px + 1 + int(rng.integers(0, 2000))
    # Whole steps fall on the edges of columns, and some are said twice.
    x, y = unit * np.cumsum(rng.integers(0, 3, n)), np.round(rng.normal(size=n), 1)
    wide = x[-1] - x[0]
    span = (x[0] - max(beyond, 0) * wide, x[-1] + min(beyond, 0) * wide + (wide == 0))
    whole = m4(x, y, px, span)
    slow = m4(np.append(x, x[-1]), np.append(y, np.nan), px, span)
    assert list(whole) == list(slow[:-1])
