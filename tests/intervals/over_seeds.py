"""Simulations of the intervals and tests over seeds: bands of charts, ± of tables, differences of settings."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from runs.compare.run_table.spreads import Spread
from tests.intervals.claim import Claim, Hits, Rng, Simulation
from workers.analysis.bands import band
from workers.analysis.deltas import LEVEL, delta

SEEDS = (2, 3, 5, 10)
DRAWS = 1000
Draw = Callable[[Rng, tuple[int, int]], np.ndarray]


def normal(rng: Rng, shape: tuple[int, int]) -> np.ndarray:
    return rng.normal(size=shape)


def exponential(rng: Rng, shape: tuple[int, int]) -> np.ndarray:
    return rng.exponential(size=shape)


def band_of_chart(rng: Rng, n: int, center: str, draw: Draw, true: float) -> Hits:
    """One point of a curve for each draw."""
    x, values = np.arange(float(DRAWS)), draw(rng, (n, DRAWS))
    computed = band([(x, seed) for seed in values], center, "ci")
    return int(((computed.low <= true) & (true <= computed.high)).sum()), DRAWS


def width_of_table(rng: Rng, n: int) -> Hits:
    values = rng.normal(size=(DRAWS, n))
    widths = [Spread(n, 0.0, sd).width("ci") for sd in values.std(axis=1, ddof=1).tolist()]
    return int((np.abs(values.mean(axis=1)) <= np.array(widths, float)).sum()), DRAWS


def equal_settings(rng: Rng, n: int, m: int, test: str, scale: float = 1.0) -> Hits:
    """Return how often two settings of equal means have no p < 0.05."""
    draws = 100
    tested = [delta(rng.normal(size=n).tolist(), (scale * rng.normal(size=m)).tolist()) for _ in range(draws)]
    values = [getattr(one, test) for one in tested]
    return sum(p is None or p > LEVEL for p in values), draws


def by_seeds(simulation: Callable[..., Hits], **more: object) -> dict[str, Simulation]:
    return {f"{n} seeds": partial(simulation, n=n, **more) for n in SEEDS}


BANDS = ("workers.analysis.seed_intervals", "workers.analysis.aggregate")
CHARTS = "charts with band=ci: experiment, comparison, sweep"
CLAIMS = (
    Claim("mean over seeds", CHARTS, BANDS, by_seeds(band_of_chart, center="mean", draw=normal, true=0.0),
          at_least=0.94),
    Claim("median over seeds", CHARTS, BANDS, by_seeds(band_of_chart, center="median", draw=normal, true=0.0),
          at_least=0.94),
    Claim("interquartile mean over seeds", CHARTS, BANDS, by_seeds(band_of_chart, center="iqm", draw=normal, true=0.0),
          at_least=0.94),
    Claim("mean over seeds, exponential", CHARTS, BANDS,
          by_seeds(band_of_chart, center="mean", draw=exponential, true=1.0), at_least=0.87,
          note="t assumes normal seeds; the guide on charts has a table for others"),
    Claim("median over seeds, exponential", CHARTS, BANDS,
          by_seeds(band_of_chart, center="median", draw=exponential, true=math.log(2)), at_least=0.92),
    Claim("± with spread=ci", "tables of grouped runs", ("runs.compare.run_table.spreads",), by_seeds(width_of_table),
          at_least=0.94),
    Claim("Welch's t, p < 0.05", "final results of a comparison", (),
          {f"{n} + {n} seeds": partial(equal_settings, n=n, m=n, test="welch") for n in SEEDS}, at_least=0.94),
    Claim("Welch's t, p < 0.05, unequal", "final results of a comparison", (),
          {f"2 + {m} seeds": partial(equal_settings, n=2, m=m, test="welch", scale=0.5) for m in (3, 8, 30)},
          at_least=0.87, note="two seeds against many: the guide on charts says up to 13 %"),
    Claim("exact permutation, p ≤ 0.05", "final results of a comparison", (),
          {f"{n} + {n} seeds": partial(equal_settings, n=n, m=n, test="permutation") for n in (4, 5)}, at_least=0.94),
)  # fmt: skip
