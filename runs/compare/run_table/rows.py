"""Rows of a runs table: the values of its columns, read for all displayed runs together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Max, Sum
from django.db.models.functions import Coalesce, Now
from django.utils.functional import cached_property
from django.utils.translation import gettext

from runs import metrics
from runs.charts import label
from runs.compare.run_table.columns import SUMMARIES, Column, Kind
from runs.compare.run_table.grouping import GroupRow
from runs.compare.run_table.step_values import StepValue, step_values
from runs.flags import open_flags
from runs.metrics import Provenance
from runs.models import Attempt, Flag, Run, Series
from workers.executors.states import State


@dataclass(frozen=True)
class Gap:
    """The difference of a run's value from the pinned run's; None if the two were measured differently.

    direction: HIGHER or LOWER, the direction in which values are better; None if neither is.
    """

    difference: float | None
    direction: int | None = None

    @property
    def is_better(self) -> bool | None:
        """Return whether the value is better than the pinned run's; None if neither is better."""
        if not self.difference or self.direction is None:
            return None
        return self.difference * self.direction > 0


@dataclass(frozen=True)
class Cell:
    """Hold the value that a run has in a column, or None if it has none.

    measured: how an evaluation measured the value; None if it is no evaluation's.
    step: the step of the point that holds the value, for a value at a step. gap: the difference from the pinned run.
    """

    column: Column
    value: Any
    measured: Provenance | None = None
    step: int | None = None
    gap: Gap | None = None


@dataclass(frozen=True)
class Row:
    """A run, the reason of its state unless it runs or has succeeded, and its cells in the order of the columns."""

    run: Run
    reason: str
    cells: list[Cell]

    @cached_property
    def address(self) -> str:
        """Return the address of the run's page. It is cached, because most of the run's cells need it."""
        return self.run.get_absolute_url()


@dataclass(frozen=True)
class _RowData:
    """Data that was read about the displayed runs, by run id; series by run id and key, step values by run id and
    column."""

    reasons: dict[int, str]
    steps: dict[int, int]
    seconds: dict[int, float]
    series: dict[tuple[int, str], Mapping[str, float | None]]
    origins: dict[int, str]
    flags: dict[int, list[Flag]]
    step_values: Mapping[tuple[int, str], StepValue]


def rows_of(runs: Sequence[Run], columns: Sequence[Column]) -> list[Row]:
    """Return the rows. Four queries, however many runs; one more for flags, one for values at a step, and one for
    origins not read before."""
    needs_origins = any(column.key == "origin" or column.is_held_out for column in columns)
    origins = metrics.origins_of(runs) if needs_origins else {}
    flags = open_flags(run.pk for run in runs) if any(column.kind is Kind.FLAGS for column in columns) else {}
    series, at_steps = _series(runs, columns), step_values(runs, columns)
    data = _RowData(_reasons(runs), _steps(runs), _seconds(runs), series, origins, flags, at_steps)
    return [_row(run, columns, data) for run in runs]


def group_names(rows: Sequence[GroupRow], by: Sequence[Column]) -> dict[int, list[str]]:
    """Return, by newest run of a group, the values its runs share, as text. A recipe is named after its newest run."""
    newest = Run.objects.in_bulk([row.newest for row in rows])
    shared = {row.newest: zip(by, row.values, strict=True) for row in rows}
    return {pk: [_name(column, newest[pk], value) for column, value in values] for pk, values in shared.items()}


def _name(column: Column, run: Run, value: Any) -> str:
    if column.key == "recipe":
        return f"{run.method} · {label(run)}"
    return gettext("none") if value is None else str(value)


def _row(run: Run, columns: Sequence[Column], data: _RowData) -> Row:
    is_plain = run.state in (State.RUNNING, State.SUCCEEDED)
    reason = "" if is_plain else data.reasons.get(run.pk, "")
    return Row(run, reason, [_cell(run, column, data) for column in columns])


def _cell(run: Run, column: Column, data: _RowData) -> Cell:
    at_step = data.step_values.get((run.pk, column.key)) if column.kind is Kind.STEP_VALUE else None
    value = at_step.value if at_step else _value(run, column, data)
    is_measured = value is not None and column.is_held_out
    measured = metrics.provenance(run.config, column.metric, data.origins[run.pk]) if is_measured else None
    return Cell(column, value, measured, at_step.step if at_step else None)


def _value(run: Run, column: Column, data: _RowData) -> Any:
    if column.kind is Kind.METRIC:
        row = data.series.get((run.pk, column.metric))
        return row[column.summary] if row else None
    if column.kind is Kind.STEP_VALUE:
        return None
    if column.kind is Kind.CONFIG:
        return _in_config(run.config, column.path)
    if column.kind is Kind.FLAGS:
        return data.flags.get(run.pk)
    if column.key in FIELDS:
        return FIELDS[column.key](run)
    computed = {"step": data.steps.get(run.pk, 0), "time": data.seconds.get(run.pk)}
    return data.origins.get(run.pk) if column.key == "origin" else computed[column.key]


FIELDS: Mapping[str, Callable[[Run], Any]] = {
    "name": lambda run: run.name,
    "state": lambda run: run.state,
    "method": lambda run: run.method,
    "preset": label,
    "seed": lambda run: run.seed if run.seed >= 0 else None,
    "created": lambda run: run.created_at,
    "by": lambda run: run.created_by.get_username(),
    "tag": lambda run: run.tags,
    "note": lambda run: run.note,
    "recipe": lambda run: run.recipe[:8],
    "archived": lambda run: run.archived_at,
}


def _in_config(config: Any, path: Sequence[str]) -> Any:
    for name in path:
        config = config.get(name) if isinstance(config, dict) else None
    return config


def _reasons(runs: Sequence[Run]) -> dict[int, str]:
    """Return the reason why the newest attempt of each run waits or finished."""
    newest = Attempt.objects.filter(run__in=runs).order_by("run_id", "-n").distinct("run_id")
    return dict(newest.values_list("run_id", "reason"))


def _steps(runs: Sequence[Run]) -> dict[int, int]:
    rows = Series.objects.filter(run__in=runs).order_by().values_list("run_id")
    return dict(rows.annotate(newest=Max("last_step")))


def _seconds(runs: Sequence[Run]) -> dict[int, float]:
    """Return the seconds of all attempts of each run that has started."""
    started = Attempt.objects.filter(run__in=runs, started_at__isnull=False).order_by().values_list("run_id")
    took = started.annotate(took=Sum(Coalesce("ended_at", Now()) - Coalesce("started_at", Now())))
    return {run_id: span.total_seconds() for run_id, span in took}


def _series(runs: Sequence[Run], columns: Sequence[Column]) -> dict[tuple[int, str], Mapping[str, float | None]]:
    keys = {column.metric for column in columns if column.kind is Kind.METRIC}
    rows = Series.objects.filter(run__in=runs, key__in=keys).values("run_id", "key", *SUMMARIES.values())
    return {(row["run_id"], row["key"]): row for row in rows}
