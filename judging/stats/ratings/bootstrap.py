"""What the strengths would have been had other prompts been drawn: resampled with their votes, and fitted again.

Votes on one prompt go together, so that prompts are resampled and not votes; where several people judged the same
prompts, annotators too, crosswise (Owen 2007, "The pigeonhole bootstrap").
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from judging.stats.ratings.counts import Cells, Counts, cells, of_cells, summed
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.votes import Floats, Ints, Votes

UNITS = {"prompt": "prompts", "annotator": "annotators", "both": "prompts and annotators", "vote": "votes"}
FEW = 20
"""Below that many clusters the intervals are known to be too narrow."""
DENSE_AT_MOST = 20_000_000
FITTED_AT_ONCE = 2_000_000
"""Numbers of an array held at once: of clusters' cells, and of counts that are fitted."""


@dataclass(frozen=True)
class Resampling:
    """How to resample: what is drawn, how often, from which seed."""

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
    """Strengths of resamples. theta: float64[sound, n], nats, mean 0. failed: how many had none. clusters: of how many
    units each drew."""

    theta: Floats
    failed: int
    clusters: int


def bootstrap(votes: Votes, how: Resampling, ties: str = "half-win", prior: float = 0.0) -> Draws:
    """Draws as many units as there are, with replacement, and fits; again and again. The prior stays on the pairs that
    met in the votes, whether a resample has them or not."""
    table, rng = cells(_each_alone(votes) if how.unit == "vote" else votes), np.random.default_rng(how.seed)
    met = table.counts().games > 0
    found = []
    for size in _blocks(table, how.resamples):
        drawn = _drawn(table, how.unit, rng, size)
        found.append(fit(Counts(drawn.wins + prior * met, drawn.ties), ties))
    theta, failed = (np.concatenate(parts) for parts in zip(*((one.theta, one.failed) for one in found), strict=True))
    return Draws(theta[~failed], int(failed.sum()), _clusters(table, how.unit))


def _blocks(table: Cells, resamples: int) -> list[int]:
    """How many resamples are held at once, block by block."""
    size = max(_number(table.prompt), _number(table.annotator), 1)
    at_once = max(1, min(FITTED_AT_ONCE // max(table.n**2, 1), DENSE_AT_MOST // size))
    return [min(at_once, resamples - first) for first in range(0, resamples, at_once)]


def _each_alone(votes: Votes) -> Votes:
    counted = votes.counted
    numbers = np.arange(len(counted))
    return replace(counted, prompt=numbers, prompts=tuple(map(str, numbers)))


def _drawn(table: Cells, by: str, rng: np.random.Generator, resamples: int) -> Counts:
    prompts, annotators = _number(table.prompt), _number(table.annotator)
    if by == "both":
        return _stacked(
            [
                table.counts(_times(rng, prompts)[table.prompt] * _times(rng, annotators)[table.annotator])
                for _ in range(resamples)
            ]
        )
    unit, size = (table.annotator, annotators) if by == "annotator" else (table.prompt, prompts)
    if size == len(table.cell):
        return _of_kinds(table, rng, resamples)
    used = np.unique(table.cell)
    if size * len(used) > DENSE_AT_MOST:
        return _stacked([table.counts(_times(rng, size)[unit]) for _ in range(resamples)])
    column = np.searchsorted(used, table.cell)
    dense = summed(unit * len(used) + column, table.weight, size * len(used)).reshape(size, len(used))
    return _spread(np.array([_times(rng, size) for _ in range(resamples)]) @ dense, used, table.n)


def _of_kinds(table: Cells, rng: np.random.Generator, resamples: int) -> Counts:
    """Where each cluster is one entry, those alike are one kind, and only how often a kind is drawn matters."""
    size = len(table.cell)
    kinds, many = np.unique(np.stack([table.cell, table.weight]), axis=1, return_counts=True)
    cell, weight = kinds[0].astype(np.int64), kinds[1]
    used, column = np.unique(cell, return_inverse=True)
    dense = np.zeros((len(cell), len(used)))
    dense[np.arange(len(cell)), column.reshape(-1)] = weight
    return _spread(rng.multinomial(size, many / size, size=resamples) @ dense, used, table.n)


def _spread(sums: Floats, used: Ints, n: int) -> Counts:
    """Sums of the cells used, as counts of all. sums: float64[resamples, used]."""
    every = np.zeros((len(sums), 2 * n**2))
    every[:, used] = sums
    return of_cells(every, n)


def _times(rng: np.random.Generator, size: int) -> Floats:
    """How often each of `size` units was drawn in `size` draws. float64[size]."""
    return np.bincount(rng.integers(0, size, size), minlength=size).astype(np.float64)


def _stacked(counts: list[Counts]) -> Counts:
    return Counts(np.array([one.wins for one in counts]), np.array([one.ties for one in counts]))


def _clusters(table: Cells, unit: str) -> int:
    prompts, annotators = _number(table.prompt), _number(table.annotator)
    return {"annotator": annotators, "both": min(prompts, annotators)}.get(unit, prompts)


def _number(numbers: Ints) -> int:
    return int(numbers.max(initial=-1)) + 1
