"""Bootstrap of strengths: resample prompts with their votes, and fit the strengths again.

Votes on one prompt are not independent, so prompts are resampled and not votes. If several annotators judged the same
prompts, annotators can be resampled too, crosswise (Owen 2007, "The pigeonhole bootstrap").
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from judging.stats.ratings.counts import Cells, Counts, build_cells, counts_from_cells, sum_at
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.votes import Floats, Ints, Votes

UNITS = {"prompt": "prompts", "annotator": "annotators", "both": "prompts and annotators", "vote": "votes"}
MIN_CLUSTERS = 10
"""With fewer clusters, intervals are known only roughly to have their level, and many resamples have no ratings."""
MAX_DENSE_NUMBERS = 20_000_000
MAX_FITTED_NUMBERS = 2_000_000
"""Largest sizes of arrays in memory: MAX_DENSE_NUMBERS of clusters' cells, MAX_FITTED_NUMBERS of fitted counts."""


@dataclass(frozen=True)
class Resampling:
    """Options of resampling: the unit that is sampled, the number of resamples, and the seed."""

    unit: str = "prompt"
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ValueError(f"the unit must be one of {', '.join(UNITS)}, not {self.unit!r}")
        if self.resamples < 1:
            raise ValueError(f"there must be at least one resample, not {self.resamples}")


@dataclass(frozen=True)
class Draws:
    """Strengths of resamples.

    theta: float64[sound, n], nats, mean 0. failed: the number of resamples without strengths. clusters: the number of
    units that each resample draws.
    """

    theta: Floats
    failed: int
    clusters: int


def bootstrap(votes: Votes, resampling: Resampling, ties: str = "half-win", prior: float = 0.0) -> Draws:
    """Draw as many units as there are, with replacement, and fit each resample.

    The prior applies to the pairs that met in the votes, even if a resample does not have them.
    """
    table, rng = cells_by_unit(votes, resampling.unit), np.random.default_rng(resampling.seed)
    met = table.counts().games > 0
    fits = []
    for size in _block_sizes(table, resampling.resamples):
        resampled = _resample(table, resampling.unit, rng, size)
        fits.append(fit(Counts(resampled.wins + prior * met, resampled.ties), ties))
    theta, failed = (
        np.concatenate(parts) for parts in zip(*((fitted.theta, fitted.failed) for fitted in fits), strict=True)
    )
    return Draws(theta[~failed], int(failed.sum()), _cluster_count(table, resampling.unit))


def cells_by_unit(votes: Votes, unit: str) -> Cells:
    """Return the counted votes as a table; if the unit is a vote, each vote has a prompt of its own."""
    return build_cells(_one_prompt_per_vote(votes) if unit == "vote" else votes)


def _block_sizes(table: Cells, resamples: int) -> list[int]:
    """Return the number of resamples in each block that is in memory."""
    size = max(_next_number(table.prompt), _next_number(table.annotator), 1)
    block_size = max(1, min(MAX_FITTED_NUMBERS // max(table.n**2, 1), MAX_DENSE_NUMBERS // size))
    return [min(block_size, resamples - first) for first in range(0, resamples, block_size)]


def _one_prompt_per_vote(votes: Votes) -> Votes:
    counted = votes.counted
    numbers = np.arange(len(counted))
    return replace(counted, prompt=numbers, prompts=tuple(map(str, numbers)))


def _resample(table: Cells, by: str, rng: np.random.Generator, resamples: int) -> Counts:
    prompts, annotators = _next_number(table.prompt), _next_number(table.annotator)
    if by == "both":
        return _stack_counts(
            [
                table.counts(_draw_times(rng, prompts)[table.prompt] * _draw_times(rng, annotators)[table.annotator])
                for _ in range(resamples)
            ]
        )
    unit, size = (table.annotator, annotators) if by == "annotator" else (table.prompt, prompts)
    if size == len(table.cell):
        return _resample_single_entries(table, rng, resamples)
    used = np.unique(table.cell)
    if size * len(used) > MAX_DENSE_NUMBERS:
        return _stack_counts([table.counts(_draw_times(rng, size)[unit]) for _ in range(resamples)])
    column = np.searchsorted(used, table.cell)
    dense = sum_at(unit * len(used) + column, table.weight, size * len(used)).reshape(size, len(used))
    return _spread_cells(np.array([_draw_times(rng, size) for _ in range(resamples)]) @ dense, used, table.n)


def _resample_single_entries(table: Cells, rng: np.random.Generator, resamples: int) -> Counts:
    """Resample clusters of one entry each.

    Equal clusters are one kind, and only the number of draws of each kind matters.
    """
    size = len(table.cell)
    kinds, kind_counts = np.unique(np.stack([table.cell, table.weight]), axis=1, return_counts=True)
    cell, weight = kinds[0].astype(np.int64), kinds[1]
    used, column = np.unique(cell, return_inverse=True)
    dense = np.zeros((len(cell), len(used)))
    dense[np.arange(len(cell)), column.reshape(-1)] = weight
    return _spread_cells(rng.multinomial(size, kind_counts / size, size=resamples) @ dense, used, table.n)


def _spread_cells(sums: Floats, used: Ints, n: int) -> Counts:
    """Return the sums of the used cells as counts of all cells. sums: float64[resamples, used]."""
    every = np.zeros((len(sums), 2 * n**2))
    every[:, used] = sums
    return counts_from_cells(every, n)


def _draw_times(rng: np.random.Generator, size: int) -> Floats:
    """Draw `size` of `size` units, and return how often each was drawn. float64[size]."""
    return np.bincount(rng.integers(0, size, size), minlength=size).astype(np.float64)


def _stack_counts(tables: list[Counts]) -> Counts:
    return Counts(np.array([table.wins for table in tables]), np.array([table.ties for table in tables]))


def _cluster_count(table: Cells, unit: str) -> int:
    prompts, annotators = _next_number(table.prompt), _next_number(table.annotator)
    return {"annotator": annotators, "both": min(prompts, annotators)}.get(unit, prompts)


def _next_number(numbers: Ints) -> int:
    return int(numbers.max(initial=-1)) + 1
