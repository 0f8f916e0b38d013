"""Table of a sweep's cells as a file, with every digit: keys, mean and deviation, and the value of each seed."""

from __future__ import annotations

from collections.abc import Sequence

from runs.charts import MEASURED
from runs.launching.sweeps.options import SweepOptions
from runs.launching.sweeps.table import CellRow, SeedRun, Summary
from runs.launching.sweeps.values import file_value
from runs.models import Sweep
from runs.tables import Cell, Column, Mean, Table

STEPS = "common step"


def cells_table(rows: Sequence[CellRow], options: SweepOptions, *, with_seeds: bool = True) -> Table:
    """Return one row per cell. runs: number of its runs; n: of those with a value that counts; common step: that of the
    values, if the runs of the cell end at different steps.

    mean and std are empty if the values of a cell were measured differently; `measured` then lists the measurements.
    with_seeds: also the value of each run, in a column for each seed.
    """
    seeds = sorted({run.seed for row in rows for run in row.runs}) if with_seeds else []
    metric = options.metric
    name = metric.key if metric.summary == "last" else f"{metric.key} {metric.summary}"
    columns: tuple[Column | str, ...] = (*options.keys, "runs", Column(name, kind=Mean), STEPS, MEASURED)
    return Table(
        (*columns, *(f"seed {seed}" for seed in seeds)), tuple(_row(row, options.keys, len(seeds)) for row in rows)
    )


def notes_of(sweep: Sweep, options: SweepOptions) -> list[str]:
    """Return the lines that state the origin of the table in a LaTeX file."""
    return [f"Sweep {sweep.pk}: {sweep.name}", f"{options.metric.key}, {options.metric.summary} value of each run"]


def file_name(pk: int, options: SweepOptions) -> str:
    """Return the name of the file, without its ending."""
    return f"sweep {pk} {options.metric.key} {options.metric.summary}".replace("/", " ")


def _row(row: CellRow, keys: Sequence[str], seeds: int) -> tuple[Cell, ...]:
    summary = row.summary
    ways = dict.fromkeys(run.way.text for run in row.runs if run.way is not None and run.value is not None)
    values = tuple(file_value(row.cell[key]) if key in row.cell else None for key in keys)
    return (
        *values, summary.total, Mean(summary.mean, summary.std, summary.n), _steps(summary), " | ".join(ways),
        *(_value(run) for run in row.aligned[:seeds]),
    )  # fmt: skip


def _steps(summary: Summary) -> Cell:
    """Return the steps of the values if the runs of a cell end at different steps; None if they end at the same."""
    return "own last steps" if summary.has_own_ends else ", ".join(map(str, summary.steps)) or None


def _value(run: SeedRun | None) -> float | None:
    return None if run is None else run.value
