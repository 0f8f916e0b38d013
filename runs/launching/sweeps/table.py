"""Table of a sweep's cells: state and metric of each seed, and mean and deviation of each cell over its seeds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.utils.translation import gettext, ngettext

from runs import metrics
from runs.charts import GroupEnd, read_group_ends
from runs.launching.run_names import format_value
from runs.launching.sweeps.options import SweepMetric
from runs.launching.sweeps.plan import identity, label
from runs.launching.sweeps.status import runs_of
from runs.metrics import LOWER, Provenance
from runs.models import Series, Sweep
from workers.analysis.aggregate import SPREADS, around
from workers.analysis.bands import STD_FROM
from workers.executors.states import OPEN_STATES, State

LAST = "last_value"
MAX_READ_RUNS = 1000
"""Most runs of which points are read for one table."""


@dataclass(frozen=True)
class SeedRun:
    """A run of a cell. value: its summary of the metric, None if it has none or if that is not a finite number.

    is_unusable: it has a value that is not a finite number. way: how the value was measured, None if that is not known.
    last_step: the step of its own last value. If the runs of its cell have other ones, or no finite value at their end,
    and the summary is the last value, then `value` is that at `common_step`, the last that all of them have; if they
    are too many to read their points, has_own_end is True and `value` is its own last.
    """

    uid: str
    name: str
    seed: int
    state: str
    value: float | None
    is_unusable: bool = False
    way: Provenance | None = None
    last_step: int | None = None
    common_step: int | None = None
    has_own_end: bool = False
    pk: int = 0

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
    measurements of the values if they differ; then all numbers are None. states: number of runs by state. steps: those
    of the values, if runs end at different steps; has_own_ends: whether some are the runs' own last values instead.
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
    steps: tuple[int, ...] = ()
    has_own_ends: bool = False

    @property
    def end_words(self) -> str:
        """Return the steps of the values as text, if the runs end at different steps; else an empty text."""
        if self.has_own_ends:
            return gettext("at each run's own last step")
        steps = ", ".join(map(str, self.steps))
        return ngettext("at step %(steps)s", "at steps %(steps)s", len(self.steps)) % {"steps": steps} if steps else ""

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
    """Return one row per cell, in the order in which the cells were created. Two queries. Points are read, with one
    more, for cells whose runs end at different steps, if the summary of the metric is the last value.

    metric: the held-out reward if omitted.
    """
    metric = metric or SweepMetric()
    by_cell: dict[str, tuple[dict[str, Any], list[SeedRun]]] = {}
    for cell, run in _seed_runs(sweep, metric):
        by_cell.setdefault(identity(cell, 0), (cell, []))[1].append(run)
    members = [runs for _, runs in by_cell.values()]
    if metric.field == LAST:
        members = _at_common_steps(members, metric.key)
    seeds = sorted({run.seed for runs in members for run in runs})
    cells = zip((cell for cell, _ in by_cell.values()), members, strict=True)
    return [_row(index, sweep.keys, seeds, *cell_runs) for index, cell_runs in enumerate(cells)]


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
    steps = tuple(sorted({run.common_step for run in measured if run.common_step is not None}))
    empty = Summary(
        len(values), len(members), spread=spread, states=listed, steps=steps,
        has_own_ends=any(run.has_own_end for run in measured),
    )  # fmt: skip
    if len(ways) > 1 or not values:
        return replace(empty, ways=ways if len(ways) > 1 else ())
    mean, std, low, high = float(np.mean(values)), None, None, None
    if len(values) > 1:
        std = float(np.std(values, ddof=1))
        low, high = (float(end[0]) for end in around(np.array(values)[:, None], "mean", spread))
    return replace(empty, mean=mean, std=std, low=low, high=high)


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
    values = {pk: (value, step) for pk, value, step in series.values_list("run_id", metric.field, "last_step")}
    fields = ["pk", "uid", "name", "seed", "state", "cell"]
    runs = runs_of(sweep).order_by("pk")
    if metrics.is_held_out(metric.key):
        runs, fields = runs.annotate(facts=metrics.facts_expression()), [*fields, "facts"]
    for pk, uid, name, seed, state, cell, *facts in runs.values_list(*fields):
        value, last_step = values.get(pk, (None, None))
        is_usable = value is not None and math.isfinite(value)
        way = metrics.provenance_of_facts(facts[0], metric.key) if facts else None
        is_unusable = pk in values and not is_usable
        run = SeedRun(uid, name, seed, state, value if is_usable else None, is_unusable, way, last_step, pk=pk)
        yield cell or {}, run


def _at_common_steps(cells: Sequence[list[SeedRun]], key: str) -> list[list[SeedRun]]:
    """Return the runs of each cell with their values at the last step that all of them have. The points of the first
    MAX_READ_RUNS runs of cells whose runs end at different steps are read."""
    out, left, read = list(cells), MAX_READ_RUNS, dict[int, list[SeedRun]]()
    for place, runs in enumerate(cells):
        members = [run for run in runs if run.last_step is not None and not run.is_partial]
        if len({run.last_step for run in members}) < 2 and not any(run.is_unusable for run in members):
            continue
        if len(members) > left:
            out[place] = [replace(run, has_own_end=run in members) for run in runs]
            continue
        left -= len(members)
        read[place] = members
    ends = read_group_ends([([run.pk for run in members], key) for members in read.values()])
    for place, end in zip(read, ends, strict=True):
        out[place] = [_at_end(run, end) for run in cells[place]]
    return out


def _at_end(run: SeedRun, end: GroupEnd) -> SeedRun:
    if run.pk not in end.last_steps:
        return run
    value = end.values.get(run.pk)
    return replace(run, value=value, common_step=end.step, is_unusable=run.is_unusable and value is None)


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
