"""Table of a sweep's cells: state and reward of each seed, and the best cells with a band over their seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runs.launching.sweeps.plan import format_value, identity, label
from runs.launching.sweeps.status import runs_of
from runs.models import Series, Sweep
from workers.analysis.aggregate import SPREADS, around
from workers.analysis.bands import STD_FROM

REWARD = "reward/mean"


@dataclass(frozen=True)
class SeedRun:
    """A run of a cell; `reward` is its newest held-out reward, None if none was measured."""

    uid: str
    name: str
    seed: int
    state: str
    reward: float | None


@dataclass(frozen=True)
class CellRow:
    """A cell over its seeds. values: the values of the sweep's keys as text, empty for keys that the cell lacks.
    aligned: a run, or None, for each seed that any cell has.

    mean: over the n seeds that have a reward; low and high: the band around it, None for a single seed. spread: the
    kind of the band, one of `workers.analysis.aggregate.SPREADS`.
    """

    cell: dict[str, Any]
    values: tuple[str, ...]
    runs: tuple[SeedRun, ...]
    aligned: tuple[SeedRun | None, ...]
    n: int
    mean: float | None
    low: float | None
    high: float | None
    spread: str

    @property
    def label(self) -> str:
        """Return the cell in one line."""
        return label(self.cell)

    @property
    def spread_words(self) -> str:
        """Return the label of the band."""
        return SPREADS[self.spread]


def cell_rows(sweep: Sweep) -> list[CellRow]:
    """Return one row per cell, in the order in which the cells were created. Two queries; no point is read."""
    runs = runs_of(sweep).order_by("pk").values_list("pk", "uid", "name", "seed", "state", "cell")
    rewards = dict(Series.objects.filter(run__sweep=sweep, key=REWARD).values_list("run_id", "last_value"))
    by_cell: dict[str, tuple[dict[str, Any], list[SeedRun]]] = {}
    for pk, uid, name, seed, state, cell in runs:
        seed_runs = by_cell.setdefault(identity(cell or {}, 0), (cell or {}, []))[1]
        seed_runs.append(SeedRun(uid, name, seed, state, _usable(rewards, pk)))
    seeds = sorted({run.seed for _, members in by_cell.values() for run in members})
    return [_row(sweep.keys, seeds, cell, members) for cell, members in by_cell.values()]


def best_cells(rows: Sequence[CellRow], count: int = 3) -> list[CellRow]:
    """Return the cells with the highest mean reward, the best first, `count` at most."""
    measured = [row for row in rows if row.mean is not None]
    return sorted(measured, key=lambda row: -(row.mean or 0.0))[:count]


def _usable(rewards: Mapping[int, float], pk: int) -> float | None:
    value = rewards.get(pk)
    return value if value is not None and math.isfinite(value) else None


def _row(keys: Sequence[str], seeds: Sequence[int], cell: dict[str, Any], runs: list[SeedRun]) -> CellRow:
    values = [run.reward for run in runs if run.reward is not None]
    spread = "range" if len(values) < STD_FROM else "std"
    low, high = around(np.array(values)[:, None], "mean", spread) if len(values) > 1 else (None, None)
    by_seed = {run.seed: run for run in runs}
    return CellRow(
        cell=cell,
        values=tuple(format_value(cell[key]) if key in cell else "" for key in keys),
        runs=tuple(sorted(runs, key=lambda run: run.seed)),
        aligned=tuple(by_seed.get(seed) for seed in seeds),
        n=len(values),
        mean=float(np.mean(values)) if values else None,
        low=None if low is None else float(low[0]),
        high=None if high is None else float(high[0]),
        spread=spread,
    )
