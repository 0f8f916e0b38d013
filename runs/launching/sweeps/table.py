"""Table of a sweep's cells: state and metric of each seed, and mean and deviation of each cell over its seeds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.translation import gettext

from runs import metrics
from runs.launching.run_names import format_value
from runs.launching.sweeps.options import SweepMetric
from runs.launching.sweeps.plan import identity, label
from runs.launching.sweeps.status import runs_of
from runs.metrics import LOWER, Provenance
from runs.models import Series, Sweep
from workers.analysis.aggregate import SPREADS, around
from workers.analysis.bands import STD_FROM
from workers.executors.states import OPEN_STATES, State


@dataclass(frozen=True)
class SeedRun:
    """A run of a cell. value: its summary of the metric, None if it has none or if that is not a finite number.

    is_unusable: it has a value that is not a finite number. way: how the value was measured, None if that is not known.
    """

    uid: str
    name: str
    seed: int
    state: str
    value: float | None
    is_unusable: bool = False
    way: Provenance | None = None

    @property
    def is_open(self) -> bool:
        """Return whether the run may still record values."""
        return State(self.state) in OPEN_STATES

    @property
    def is_partial(self) -> bool:
        """Return whether the run has only a part of its responses, so that no mean includes it."""
        return self.state == State.PARTIAL


@dataclass(frozen=True)
class Summary:
    """Summary of a metric over `total` runs, of which `n` have a value that counts.

    mean, std: over the n values; None without values, std also for a single one. low, high: the band around the mean,
    None for a single value. spread: the kind of the band, one of `workers.analysis.aggregate.SPREADS`. ways: the
    measurements of the values if they differ; then all numbers are None. states: number of runs by state.
    """

    n: int
    total: int
    mean: float | None = None
    std: float | None = None
    low: float | None = None
    high: float | None = None
    spread: str = "range"
    ways: tuple[Provenance, ...] = ()
    states: tuple[tuple[str, int], ...] = ()

    @property
    def is_mixed(self) -> bool:
        """Return whether the values were measured differently, so that they have no mean."""
        return bool(self.ways)

    @property
    def is_open(self) -> bool:
        """Return whether a run may still record values."""
        return any(State(state) in OPEN_STATES for state, _n in self.states)

    @property
    def ways_words(self) -> str:
        """Return the different measurements as text."""
        return metrics.ways_in_words(self.ways)

    @property
    def spread_words(self) -> str:
        """Return the label of the band."""
        return SPREADS[self.spread]

    @property
    def unfinished(self) -> list[tuple[str, int]]:
        """Return the states of the runs that have not succeeded, with their number."""
        return [(state, n) for state, n in self.states if state != State.SUCCEEDED]


@dataclass(frozen=True)
class CellRow:
    """A cell over its seeds. values: the values of the sweep's keys as text, empty for keys that the cell lacks.
    aligned: a run, or None, for each seed that any cell has. index: its position in the sweep, from 0."""

    index: int
    cell: dict[str, Any]
    values: tuple[str, ...]
    runs: tuple[SeedRun, ...]
    aligned: tuple[SeedRun | None, ...]
    summary: Summary

    @property
    def label(self) -> str:
        """Return the cell in one line."""
        return label(self.cell)

    @property
    def mean(self) -> float | None:
        """Return the mean over its seeds."""
        return self.summary.mean


def cell_rows(sweep: Sweep, metric: SweepMetric | None = None) -> list[CellRow]:
    """Return one row per cell, in the order in which the cells were created. Two queries; no point is read.

    metric: the held-out reward if omitted.
    """
    by_cell: dict[str, tuple[dict[str, Any], list[SeedRun]]] = {}
    for cell, run in _seed_runs(sweep, metric or SweepMetric()):
        by_cell.setdefault(identity(cell, 0), (cell, []))[1].append(run)
    seeds = sorted({run.seed for _, members in by_cell.values() for run in members})
    return [_row(index, sweep.keys, seeds, *members) for index, members in enumerate(by_cell.values())]


def best_cells(rows: Sequence[CellRow], count: int | None = 3, direction: int | None = None) -> list[CellRow]:
    """Return the cells with a mean, the best first, `count` at most. If the good direction is not known, the highest
    mean is the first."""
    sign = 1.0 if direction == LOWER else -1.0
    measured = [row for row in rows if row.mean is not None]
    return sorted(measured, key=lambda row: sign * (row.mean or 0.0))[:count]


def summarise(runs: Iterable[SeedRun]) -> Summary:
    """Return the summary over these runs. Runs with only a part of their responses do not count."""
    members = list(runs)
    measured = [run for run in members if run.value is not None and not run.is_partial]
    values = [run.value for run in measured if run.value is not None]
    ways = metrics.ways(run.way for run in measured)
    states = Counter(run.state for run in members)
    listed = tuple((state.value, states[state.value]) for state in State if state.value in states)
    spread = "range" if len(values) < STD_FROM else "std"
    if len(ways) > 1 or not values:
        mixed = ways if len(ways) > 1 else ()
        return Summary(len(values), len(members), spread=spread, ways=mixed, states=listed)
    mean, std, low, high = float(np.mean(values)), None, None, None
    if len(values) > 1:
        std = float(np.std(values, ddof=1))
        low, high = (float(end[0]) for end in around(np.array(values)[:, None], "mean", spread))
    return Summary(len(values), len(members), mean, std, low, high, spread, (), listed)


def explain_absence(rows: Iterable[CellRow], key: str) -> str:
    """Return why the cells have no mean of the metric of this key, in the words of `runs.charts.explain_absence`."""
    runs, params = [run for row in rows for run in row.runs], {"key": key}
    if any(run.value is not None for run in runs):
        return gettext("Only partial runs have %(key)s, and no mean includes them.") % params
    if any(run.is_unusable for run in runs):
        return gettext("None of the values of %(key)s is a finite number.") % params
    if any(run.is_open for run in runs):
        return gettext("No run of this sweep has %(key)s yet.") % params
    return gettext("The runs of this sweep ended without values of %(key)s.") % params


def mixed_ways(rows: Iterable[CellRow]) -> tuple[Provenance, ...]:
    """Return the measurements of all values if they differ, within a cell or between cells; otherwise nothing."""
    ways = metrics.ways(run.way for row in rows for run in row.runs if run.value is not None and not run.is_partial)
    return ways if len(ways) > 1 else ()


def _seed_runs(sweep: Sweep, metric: SweepMetric) -> Iterator[tuple[dict[str, Any], SeedRun]]:
    """Yield each run of the sweep with its cell, in order. The measurement is read for held-out metrics only."""
    series = Series.objects.filter(run__sweep=sweep, key=metric.key)
    values = dict(series.values_list("run_id", metric.field))
    fields = ["pk", "uid", "name", "seed", "state", "cell"]
    runs = runs_of(sweep).order_by("pk")
    if metrics.is_held_out(metric.key):
        runs, fields = runs.annotate(facts=metrics.facts_expression()), [*fields, "facts"]
    for pk, uid, name, seed, state, cell, *facts in runs.values_list(*fields):
        value = values.get(pk)
        is_usable = value is not None and math.isfinite(value)
        way = metrics.provenance_of_facts(facts[0], metric.key) if facts else None
        yield (
            cell or {},
            SeedRun(uid, name, seed, state, value if is_usable else None, pk in values and not is_usable, way),
        )


def _row(index: int, keys: Sequence[str], seeds: Sequence[int], cell: dict[str, Any], runs: list[SeedRun]) -> CellRow:
    by_seed = {run.seed: run for run in runs}
    return CellRow(
        index=index,
        cell=cell,
        values=tuple(format_value(cell[key]) if key in cell else "" for key in keys),
        runs=tuple(sorted(runs, key=lambda run: run.seed)),
        aligned=tuple(by_seed.get(seed) for seed in seeds),
        summary=summarise(runs),
    )
