"""Simulated random walks with the coefficients of an ES run: how its exponent of growth varies by chance.

The points of a curve of norms belong to one path, so that they depend on each other, and the residuals of a line
through them do not tell how much its slope varies. Walks that are simulated with the run's own coefficients do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from workers.probes.geometry.random_walk import RandomWalk

Floats = NDArray[np.float64]
WALKS = 4000
SEED = 20260
START = RandomWalk.start()


def simulate_norms(walks: Sequence[RandomWalk], dimensions: float, count: int = WALKS) -> Floats:
    """Return the norms of `count` random walks, [count, points], in units of that of one step with coefficient 1.

    `walks` are those up to each point, in order. A walk is isotropic in `dimensions` dimensions: the part of an
    increment along the walk so far is normal, the square of the rest is χ² with one dimension less.
    """
    random = np.random.default_rng(SEED)
    norm, columns = np.zeros(count), []
    for before, after in pairwise([START, *walks]):
        kept = after.shrink / before.shrink if before.shrink else 0.0
        variance = max(0.0, after.squares - kept**2 * before.squares) / dimensions
        along = kept * norm + math.sqrt(variance) * random.standard_normal(count)
        across = variance * random.chisquare(dimensions - 1, count) if dimensions > 1 else 0.0
        norm = np.sqrt(along**2 + across)
        columns.append(norm)
    return np.stack(columns, axis=1)


def log_slopes(steps: Sequence[float], norms: Floats) -> Floats:
    """Return the slope of log norm on log step of each row of norms, [rows, points], by least squares."""
    x = np.log(np.asarray(steps))
    x -= x.mean()
    slopes: Floats = np.log(norms) @ x / (x @ x)
    return slopes
