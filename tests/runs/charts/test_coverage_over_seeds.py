"""How often the intervals and tests over seeds that pages print hold: simulated settings with a known truth.

`make soak PART=runs` prints the whole table. Expected values: 95 % for an interval of normal seeds, P(|t| < 1) for ±1
standard error, at most 5 % for p < 0.05 between equal settings by the exact permutation test, and near it by Welch's t.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from benchmarks.results import aligned
from runs.compare.run_table.spreads import Spread
from workers.analysis.aggregate import MIDDLES, Floats
from workers.analysis.bands import band
from workers.analysis.deltas import LEVEL, delta, smallest_p

SEED = 20261129
SIGMAS = 4
"""Standard errors of the binomial distribution that a simulated share may be away from its expected value."""
POPULATIONS: dict[str, tuple[Callable[[np.random.Generator, tuple[int, int]], Floats], float, float]] = {
    "normal": (lambda rng, shape: rng.normal(size=shape), 0.0, 0.0),
    "uniform": (lambda rng, shape: rng.uniform(-1, 1, size=shape), 0.0, 0.0),
    "t, 3 degrees": (lambda rng, shape: rng.standard_t(3, size=shape), 0.0, 0.0),
    "exponential": (lambda rng, shape: rng.exponential(size=shape), 1.0, math.log(2)),
}
"""Distribution of seeds -> how to draw, its mean, and its median."""


@dataclass(frozen=True)
class Coverage:
    """The simulated share of cases in which a printed interval or test holds, of so many draws, and its expected value;
    None if the distribution of the seeds is none for which the interval promises one."""

    name: str
    seeds: str
    n: str
    share: float
    draws: int
    expected: float | None

    @property
    def cells(self) -> tuple[str, ...]:
        expected = "–" if self.expected is None else f"{self.expected:.3f}"
        return self.name, self.seeds, self.n, f"{self.share:.3f}", expected

    @property
    def is_near(self) -> bool:
        """Return whether the share differs from its expected value by no more than chance does."""
        if self.expected is None:
            return True
        return abs(self.share - self.expected) <= SIGMAS * math.sqrt(self.expected * (1 - self.expected) / self.draws)


def bands_of_charts(population: str, n: int, draws: int) -> Iterator[Coverage]:
    """Yield the coverage of the bands that charts draw, one point of a curve for each draw."""
    draw, mean, median = POPULATIONS[population]
    values = draw(np.random.default_rng(SEED + n), (n, draws))
    x = np.arange(float(draws))
    for center, name in MIDDLES.items():
        if center == "iqm" and mean != median:
            continue
        true = median if center == "median" else mean
        computed = band([(x, seed) for seed in values], center, "ci")
        is_inside = (computed.low <= true) & (true <= computed.high)
        expected = 0.95 if population == "normal" else None
        yield Coverage(
            f"chart: {computed.kind} of the {name}", population, str(n), float(is_inside.mean()), draws, expected
        )
    computed = band([(x, seed) for seed in values], "mean", "se")
    is_inside = (computed.low <= mean) & (mean <= computed.high)
    expected = 1 - 2 * float(stats.t.sf(1, n - 1)) if population == "normal" else None
    yield Coverage(f"chart: {computed.kind} of the mean", population, str(n), float(is_inside.mean()), draws, expected)


def intervals_of_tables(n: int, draws: int) -> Coverage:
    """Return the coverage of ± in a table of grouped runs with `spread=ci`."""
    values = np.random.default_rng(SEED + 100 + n).normal(size=(draws, n))
    widths = [Spread(n, 0.0, sd).width("ci") for sd in values.std(axis=1, ddof=1).tolist()]
    is_inside = np.abs(values.mean(axis=1)) <= np.array(widths, float)
    return Coverage("table: ± of 95 % t-interval", "normal", str(n), float(is_inside.mean()), draws, 0.95)


def small_p_shares(n: int, m: int, draws: int, scale: float = 1.0) -> list[Coverage]:
    """Return how often p < 0.05 is printed for two settings of equal means, whose standard deviations are 1 and
    `scale`."""
    rng = np.random.default_rng([SEED, n, m])
    pairs = zip(rng.normal(size=(draws, n)), scale * rng.normal(size=(draws, m)), strict=True)
    tested = [delta(a.tolist(), b.tolist()) for a, b in pairs]
    seeds = "normal, equal" if scale == 1 else f"normal, std × {scale:g}"
    welch = float(np.mean([one.welch is not None and one.welch < LEVEL for one in tested]))
    out = [Coverage("comparison: p < 0.05 by Welch's t", seeds, f"{n} + {m}", welch, draws, None)]
    if tested[0].permutation is not None:
        share = float(np.mean([one.permutation is not None and one.permutation <= LEVEL for one in tested]))
        # Exact for one distribution: twice the number of divisions in a tail that fits into the level.
        step = smallest_p(n, m)
        expected = math.floor(LEVEL / step + 1e-9) * step if scale == 1 else None
        out.append(Coverage("comparison: p ≤ 0.05 by permutation", seeds, f"{n} + {m}", share, draws, expected))
    return out


def assert_near(rows: Sequence[Coverage]) -> None:
    wrong = [row.cells for row in rows if not row.is_near]
    assert not wrong, wrong


def test_bands_of_few_seeds_hold_their_level() -> None:
    assert_near([row for n in (2, 3, 5, 10) for row in bands_of_charts("normal", n, 20_000)])


def test_intervals_of_tables_hold_their_level() -> None:
    assert_near([intervals_of_tables(n, 5000) for n in (2, 5)])


def test_few_differences_between_equal_settings_have_a_small_p() -> None:
    rows = [row for n, m, draws in ((2, 2, 2000), (5, 5, 2000)) for row in small_p_shares(n, m, draws)]
    assert_near(rows)
    bound = LEVEL + SIGMAS * math.sqrt(LEVEL * (1 - LEVEL) / 2000)
    assert all(row.share <= bound for row in rows), [row.cells for row in rows]


@pytest.mark.soak
def test_every_interval_over_seeds_holds_its_level(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = (2, 3, 4, 5, 8, 10, 20, 32, 33, 60)
    rows = [row for population in POPULATIONS for n in sizes for row in bands_of_charts(population, n, 40_000)]
    rows += [intervals_of_tables(n, 40_000) for n in sizes]
    for scale in (1.0, 3.0):
        for n, m in ((2, 2), (3, 3), (4, 4), (5, 5), (8, 8), (2, 5), (5, 2), (3, 5), (2, 8)):
            rows += small_p_shares(n, m, 4000, scale)
    rows.sort(key=lambda row: (row.name, row.seeds))
    with capsys.disabled():
        print()
        print(aligned([("printed", "seeds", "n", "share", "expected"), *(row.cells for row in rows)]))
    assert_near(rows)
    equal_sizes = [row for row in rows if row.seeds == "normal, equal" and len(set(row.n.split(" + "))) == 1]
    assert all(row.share <= LEVEL + 0.014 for row in equal_sizes), [row.cells for row in equal_sizes]
