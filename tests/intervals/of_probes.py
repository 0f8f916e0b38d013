"""Simulations of the intervals of probes, and of the bands that values have by chance."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial

import numpy as np
import torch
from scipy import stats

from tests.intervals.claim import Claim, Hits, Rng, batch, is_between
from workers.analysis.student_t import prediction_interval
from workers.probes.behaviour.paired import barrier_value, draw_changes, mean_change, reward_values
from workers.probes.geometry.nulls import Null, gamma_band, null_of_draws
from workers.probes.geometry.overlap import _random_overlap, subspace_overlap
from workers.probes.geometry.spectrum import _Counts

LINE = (0.0, 0.25, 0.5, 0.75, 1.0)
SEED_RANGE = 2**31
DRAWS = (2, 3, 5, 10)


def seed_of(rng: Rng) -> int:
    return int(rng.integers(SEED_RANGE))


def rewards_of_line(rng: Rng, prompts: int, gap: float) -> np.ndarray:
    """Return rewards [positions, prompts] that are `gap` below the straight line in the middle, and half of it beside
    it."""
    ends = rng.normal(0, 2, prompts)
    below = gap * np.array([0.0, 0.5, 1.0, 0.5, 0.0])
    noise = np.array([0.0, 1.0, 1.0, 1.0, 0.0])[:, None] * rng.normal(0, 1, (5, prompts))
    return ends - below[:, None] + noise


def line_reward(rng: Rng, prompts: int) -> bool | None:
    value = reward_values(rewards_of_line(rng, prompts, 0.0), LINE, seed_of(rng))[2]
    return is_between(value.low, 0.0, value.high)


def barrier(rng: Rng, prompts: int, gap: float) -> bool | None:
    """The truth is the gap at the t that the data choose, as the page states."""
    value = barrier_value(rewards_of_line(rng, prompts, gap), LINE, seed_of(rng))
    true = {0.25: gap / 2, 0.5: gap, 0.75: gap / 2}[value.x or 0.0]
    return is_between(value.low, true, value.high)


def barrier_by_chance(rng: Rng, prompts: int) -> bool | None:
    value = barrier_value(rewards_of_line(rng, prompts, 0.0), LINE, seed_of(rng))
    return is_between(value.null_low, value.value, value.null_high)


def change_of_draw(rng: Rng, prompts: int) -> bool | None:
    (value,) = draw_changes(rng.normal(1, 1, (1, prompts)), 0.01, "", seed_of(rng))
    return is_between(value.low, 1.0, value.high)


def change_over_draws(rng: Rng, draws: int) -> bool | None:
    """Draws differ in their effect, and share 32 prompts."""
    differences = rng.normal(1, 1, (draws, 1)) + rng.normal(0, 0.5, (draws, 32))
    value = mean_change(differences, 0.01, "", seed_of(rng))
    return is_between(value.low, 1.0, value.high)


def one_more(rng: Rng, draws: int, interval: Callable[[list[float]], Null | tuple[float, float]]) -> bool | None:
    """Whether one further draw is in the band."""
    *values, further = rng.normal(size=draws + 1).tolist()
    band = interval(values)
    low, high = (band.low, band.high) if isinstance(band, Null) else band
    return is_between(low, further, high)


@cache
def band_of_squares(n: int) -> tuple[float, float]:
    return gamma_band(1.0, 2 / n)


def square_of_norm(rng: Rng, n: int) -> Hits:
    low, high = band_of_squares(n)
    values = rng.chisquare(n, 1000) / n
    return int(((low <= values) & (values <= high)).sum()), 1000


def cosine_of_noise(rng: Rng, n: int) -> Hits:
    """Band ±1.96/√n around 0 for two independent directions."""
    one, other = rng.normal(size=(2, 200, n))
    values = (one * other).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
    return int((np.abs(values) <= stats.norm.isf(0.025) / math.sqrt(n)).sum()), 200


def density_of_noise(rng: Rng, n: int) -> bool | None:
    delta = torch.from_numpy(rng.normal(size=n))
    value = _Counts.of_pieces(iter([(delta, delta)])).density("")
    return is_between(value.null_low, value.value, value.null_high)


def overlap_of_noise(rng: Rng, draws: int) -> bool | None:
    null = _random_overlap(16, 2, draws, seed_of(rng))
    u, v = (torch.linalg.qr(torch.from_numpy(rng.normal(size=(16, 2))))[0] for _ in range(2))
    return is_between(null.low, subspace_overlap(u, v), null.high)


def by_prompts(holds: Callable[..., bool | None], **more: float) -> dict[str, Callable[[Rng], Hits]]:
    return {f"{n} prompts": batch(partial(holds, prompts=n, **more), 10) for n in (8, 32, 160)}


def by_draws(holds: Callable[..., bool | None], **more: object) -> dict[str, Callable[[Rng], Hits]]:
    return {f"{n} draws": batch(partial(holds, draws=n, **more), 50) for n in DRAWS}


PAGE, PAIRED = "probes: table and chart", ("workers.probes.behaviour.paired",)
CHANCE = "probes: band by chance"
CLAIMS = (
    Claim("reward along a line", PAGE, PAIRED, by_prompts(line_reward)),
    Claim("barrier, clear", PAGE, PAIRED, by_prompts(barrier, gap=2.0), at_least=0.92),
    Claim("barrier, none", PAGE, PAIRED, by_prompts(barrier, gap=0.0), at_least=0.9,
          note="the largest of several gaps: the page compares it with the band by chance"),
    Claim("change of the reward by draw", PAGE, PAIRED, by_prompts(change_of_draw)),
    Claim("change of the reward, mean of draws", PAGE, PAIRED, by_draws(change_over_draws)),
    Claim("barrier by chance", CHANCE, PAIRED, by_prompts(barrier_by_chance), at_least=0.92),
    Claim("curvature of random directions", CHANCE, ("workers.probes.behaviour.curvature",),
          by_draws(one_more, interval=prediction_interval)),
    Claim("rank of random matrices", CHANCE, ("workers.probes.geometry.nulls",),
          by_draws(one_more, interval=null_of_draws)),
    Claim("overlap of random subspaces", CHANCE, ("workers.probes.geometry.overlap",), by_draws(overlap_of_noise)),
    Claim("norm of a random walk", CHANCE, ("workers.probes.geometry.nulls",),
          {f"{n} elements": partial(square_of_norm, n=n) for n in (4, 100, 10_000)}, at_least=0.94),
    Claim("cosine of random directions", CHANCE, ("workers.probes.geometry.cosine",),
          {f"{n} elements": partial(cosine_of_noise, n=n) for n in (64, 1024)}, at_least=0.94),
    Claim("density of random changes", CHANCE, ("workers.probes.geometry.spectrum",),
          {f"{n} elements": batch(partial(density_of_noise, n=n), 20) for n in (64, 1024)}),
)  # fmt: skip
