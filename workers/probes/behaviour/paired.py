"""Statistics of rewards that several sets of weights earn on the same prompts. All differences are paired by prompt.

bootstrap   95 % interval over prompts that are drawn with replacement (Efron 1979), with expanded percentiles: as wide
            as Student's t requires for few prompts (`workers.analysis.resampling`)
sign flips  the band of the statistic if each prompt's difference had its sign by chance (Fisher's randomisation test)

Both make REPLICATES replicates from a seed. A replicate draws its prompts, or its signs, once for all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from workers.analysis.resampling import expanded_tail
from workers.analysis.student_t import mean_interval
from workers.records import ProbeValue

Floats = NDArray[np.float64]
REPLICATES = 2000
BAND = (0.025, 0.975)
"""Quantiles of a band of 95 % of what chance makes."""
BLOCK_SIZE = 1 << 22
"""Numbers that the replicates of one block may have, so that memory is bounded for any number of prompts."""


def bootstrap_means(rows: Floats, seed: int) -> Floats:
    """Return the means [REPLICATES, rows] over resampled prompts of rows [rows, prompts]."""
    prompts = rows.shape[1]
    shares = np.full(prompts, 1 / prompts)
    return _replicates(rows, seed, lambda rng, count: rng.multinomial(prompts, shares, size=count))


def sign_flip_means(differences: Floats, seed: int) -> Floats:
    """Return the means [REPLICATES, rows] over prompts of differences [rows, prompts] with random signs."""
    prompts = differences.shape[1]
    return _replicates(differences, seed, lambda rng, count: 2 * rng.integers(0, 2, size=(count, prompts)) - 1)


def reward_values(rewards: Floats, positions: Sequence[float], seed: int) -> tuple[ProbeValue, ...]:
    """Return the mean reward at each position t of a line, next to the straight line between the ends' rewards.

    `rewards` [positions, prompts] are those at t = 0 first, those at t = 1 last. The null's band is that of the mean
    of the differences d = r(t) − [(1 − t) r(0) + t r(1)] under sign flips, around the straight line.
    """
    gaps = _gaps(rewards, positions)
    ends = _intervals(rewards, seed)
    null_lows, null_highs = np.quantile(sign_flip_means(gaps, seed), BAND, axis=0)
    means, prompts = rewards.mean(axis=1), rewards.shape[1]
    values = []
    for i, t in enumerate(positions):
        # Equal to the value, to the bit, if no prompt leaves the line.
        line = float(means[i] + gaps[i].mean())
        value = ProbeValue(
            value=float(means[i]),
            n=prompts,
            low=ends[i][0],
            high=ends[i][1],
            null=line,
            null_low=line + float(null_lows[i]),
            null_high=line + float(null_highs[i]),
            x=t,
        )
        values.append(value)
    return tuple(values)


def barrier_value(rewards: Floats, positions: Sequence[float], seed: int) -> ProbeValue:
    """Return the largest gap (1 − t) R(0) + t R(1) − R(t) of the interior positions, at the first t that has it.

    The interval is that of the gap at this t: the largest of several resampled gaps is biased upwards. The null is the
    mean of the same maximum under sign flips, which are common to all t of a prompt: a maximum over several t is
    positive by chance. Raise ValueError without an interior position.
    """
    if len(positions) < 3:
        raise ValueError(f"a barrier needs a position between the ends, not {len(positions)} positions")
    gaps = _gaps(rewards, positions)[1:-1]
    means = gaps.mean(axis=1)
    highest = int(means.argmax())
    ((low, high),) = _intervals(gaps[highest : highest + 1], seed)
    by_chance = sign_flip_means(gaps, seed).max(axis=1)
    null_low, null_high = np.quantile(by_chance, BAND)
    return ProbeValue(
        value=float(means[highest]),
        n=rewards.shape[1],
        low=low,
        high=high,
        null=float(by_chance.mean()),
        null_low=float(null_low),
        null_high=float(null_high),
        x=positions[1 + highest],
    )


def draw_changes(differences: Floats, sigma: float, group: str, seed: int) -> list[ProbeValue]:
    """Return the mean change of each draw from the differences [draws, prompts], with its interval over prompts."""
    ends = _intervals(differences, seed)
    null_lows, null_highs = np.quantile(sign_flip_means(differences, seed), BAND, axis=0)
    return [
        ProbeValue(
            value=float(mean),
            n=differences.shape[1],
            tensor=group,
            low=ends[draw][0],
            high=ends[draw][1],
            null=0.0,
            null_low=float(null_lows[draw]),
            null_high=float(null_highs[draw]),
            x=sigma,
            draw=draw,
        )
        for draw, mean in enumerate(differences.mean(axis=1))
    ]


def mean_change(differences: Floats, sigma: float, group: str, seed: int) -> ProbeValue:
    """Return the mean change over draws from the differences [draws, prompts], with its t interval over draws.

    Under the null a prompt's differences change their sign together for all draws, because draws share the prompts.
    Raise ValueError for fewer than two draws.
    """
    means = differences.mean(axis=1)
    low, high = mean_interval(means.tolist())
    null_low, null_high = np.quantile(sign_flip_means(differences.mean(axis=0)[None], seed), BAND)
    return ProbeValue(
        value=float(means.mean()),
        n=len(means),
        tensor=group,
        low=low,
        high=high,
        null=0.0,
        null_low=float(null_low),
        null_high=float(null_high),
        x=sigma,
    )


def _intervals(rows: Floats, seed: int) -> list[tuple[float | None, float | None]]:
    """Return the interval of the mean of each row [rows, prompts]; (None, None) for a single prompt."""
    prompts = rows.shape[1]
    if prompts < 2:
        return [(None, None)] * len(rows)
    tail = expanded_tail(prompts)
    lows, highs = np.quantile(bootstrap_means(rows, seed), (tail, 1 - tail), axis=0)
    return list(zip(lows.tolist(), highs.tolist(), strict=True))


def _gaps(rewards: Floats, positions: Sequence[float]) -> Floats:
    """Return (1 − t) r(0) + t r(1) − r(t) for each position and prompt.

    In this form it is exactly 0 at both ends, and where all three rewards are equal.
    """
    t = np.asarray(positions)[:, None]
    gaps: Floats = (rewards[0] - rewards) + t * (rewards[-1] - rewards[0])
    return gaps


def _replicates(rows: Floats, seed: int, draw: Callable[[np.random.Generator, int], NDArray[np.int64]]) -> Floats:
    """Return Σ_p w_p row_p / prompts for the weights w [count, prompts] of each replicate."""
    rng = np.random.default_rng(seed)
    prompts = rows.shape[1]
    blocks = [draw(rng, count) @ rows.T / prompts for count in _block_counts(prompts)]
    return np.concatenate(blocks)


def _block_counts(prompts: int) -> Iterator[int]:
    """Yield numbers of replicates that add up to REPLICATES, each of at most BLOCK_SIZE numbers."""
    size = max(1, BLOCK_SIZE // prompts)
    for start in range(0, REPLICATES, size):
        yield min(size, REPLICATES - start)
