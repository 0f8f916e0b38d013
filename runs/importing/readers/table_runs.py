"""The runs of a table: how each is named, its settings, and its records in their order."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isnan
from typing import Any

from runs.importing import vocabulary
from runs.importing.hyperparameters import method_from_name, seed_of, settings_from_name
from runs.importing.numbers import parse_number
from runs.importing.readers.table_columns import (
    HIGH,
    IDENTITY,
    LOW,
    RUN_NAMES,
    Role,
    hyperparameter_of,
    identity_role_of,
    plain_name,
)
from runs.importing.readers.timestamps import RunClock
from runs.importing.records import Entry, ImportedRun, ImportReport
from runs.importing.steps import StatedStep, whole_number
from runs.ingest.storable import storable
from workers.config.methods import TRAINING_METHODS
from workers.executors.states import State
from workers.records import Metric

GROUP = "Group: "
"""Prefix in W&B's charts of the name of a group of runs, of which each value is the mean."""
MAX_METHOD_LENGTH = 20


@dataclass
class TableRun:
    """A run while the rows of its table are read."""

    run: ImportedRun
    clock: RunClock
    total: int = 0
    last: int | None = None
    has_values: bool = False
    epochs: Counter[str] = field(default_factory=Counter)
    steps: dict[str, int] = field(default_factory=dict)
    hyperparameters: dict[str, float | None] = field(default_factory=dict)
    """Values of columns of hyperparameters; None if a column has several."""
    values: dict[str, float] = field(default_factory=dict)
    """Numbers that the rows of the step `values_step` state so far."""
    values_step: int | None = None

    def epoch(self, step: StatedStep, series: str = "") -> int:
        """Return the epoch of a step: a step that goes back begins a new one, since the run was started again.

        series: what the row measures, in a table with a row for each value.
        """
        self.epochs[series] += int(step.step < self.steps.get(series, step.step))
        self.steps[series] = step.step
        self.last = step.step if self.last is None else max(self.last, step.step)
        self.total = step.total or self.total
        return self.epochs[series]

    def repeated_column(self, step: int, values: Mapping[str, float]) -> str:
        """Return a column of which the rows of this step state several numbers; empty if there is none."""
        if step != self.values_step:
            self.values_step, self.values = step, dict(values)
            return ""
        known = self.values
        measured = {name: value for name, value in values.items() if not name.startswith("_") and not isnan(value)}
        differ = (name for name, value in measured.items() if known.get(name, value) != value)
        column = next(differ, "")
        self.values = {**known, **values}
        return column

    def see_hyperparameter(self, name: str, value: float) -> None:
        """Take the value of a column into account that is named after a hyperparameter."""
        if self.hyperparameters.setdefault(name, value) != value:
            self.hyperparameters[name] = None

    def finish(self, report: ImportReport) -> bool:
        """Set the run's final state, its settings and its reason. Return False if it has no numbers."""
        self.clock.report_bad_times(report)
        if self.last is None or not self.has_values:
            return False
        run = self.run
        for name, value in self.hyperparameters.items():
            if value is not None:
                whole = whole_number(value)
                run.settings[name] = value if whole is None else whole
        if self.total:
            run.settings["steps"] = self.total
        if self.total and self.last >= self.total:
            run.state = State.SUCCEEDED
        else:
            of_total = f" of {self.total}" if self.total else ""
            run.reason = f"Its rows end at step {self.last}{of_total} and do not state how it ended"
        return True


class RunBuffer:
    """The records of one run, until all rows of the table are read: rows of several runs may alternate."""

    def __init__(self, table_run: TableRun) -> None:
        self.table_run = table_run
        self._rows: list[tuple[int, int, float | None, tuple[str, ...], array[float]]] = []
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._ranges: set[str] = set()

    def add(self, step: int, epoch: int, at: float | None, values: Mapping[str, float]) -> None:
        """Add a row. Rows share their names, so that a row takes little more memory than its numbers."""
        self.table_run.has_values = True
        names = tuple(values)
        self._rows.append((epoch, step, at, self._names.setdefault(names, names), array("d", values.values())))
        for name in names:
            base = name[: -len(LOW)] if name.endswith((LOW, HIGH)) else ""
            if base and values.get(base) != values[name]:
                self._ranges.add(name)

    def entries(self, report: ImportReport, *, is_long: bool) -> Iterator[Entry]:
        """Yield the records, epoch by epoch, and those of one step as one if each row has one value (`is_long`).

        The range of a metric, `metric__MIN` and `metric__MAX`, is no series if it is that of one number everywhere.
        """
        run = self.table_run.run
        if not self.table_run.finish(report):
            return
        rows = sorted(self._rows, key=lambda row: row[: 2 if is_long else 1])
        left_out = {name for names in self._names for name in names if name.endswith((LOW, HIGH))} - self._ranges
        values = dict[str, float]()
        place: tuple[int, int, float | None] = (0, 0, None)
        for epoch, step, at, names, numbers in rows:
            series = ((name, number) for name, number in zip(names, numbers, strict=True) if name not in left_out)
            row = {self._series(name): number for name, number in series}
            is_same = is_long and place == (epoch, step, at) and values.keys().isdisjoint(row)
            if values and not is_same:
                yield Entry(run, Metric(place[1], values), place[2], place[0])
            values, place = values | row if is_same else row, (epoch, step, at)
        if values:
            yield Entry(run, Metric(place[1], values), place[2], place[0])
        yield Entry(run)

    def _series(self, name: str) -> str:
        """Return the name of the series of a column. That of a group's mean differs from those of its runs."""
        if not self.table_run.run.name.startswith(GROUP):
            return name
        base = name[: -len(LOW)] if name.endswith((LOW, HIGH)) else name
        series = f"{base}/group_{'min' if name.endswith(LOW) else 'max' if name.endswith(HIGH) else 'mean'}"
        return series if vocabulary.is_usable(series) else name


def new_run(part: int, kind: str, file: str, identity: Mapping[str, str], chart_run: str, time: str) -> TableRun:
    """Return a run of a file with the settings that its identity columns, its name and the file's path state.

    identity: texts of the columns that name it. `time`: name of the column of times.
    """
    texts = [text for column, text in identity.items() if identity_role_of(column) in (Role.EXPERIMENT, Role.RUN)]
    settings = settings_from_name(file)
    for text in (*texts, chart_run):
        settings |= settings_from_name(text)
    settings |= _stated_settings(identity)
    run = ImportedRun(part, kind, settings=settings, state=State.UNKNOWN)
    run.method, run.seed = str(settings.get("method") or ""), seed_of(settings)
    run.name = storable(chart_run or _name(identity, run))
    if chart_run.startswith(GROUP):
        run.tags, run.note = ("aggregate",), "Each value is W&B's mean over the runs of a group."
    return TableRun(run, RunClock(time, run))


def make_name_distinct(run: ImportedRun, identity: Mapping[str, str], names: set[str]) -> None:
    """Add a run's id to a name that another run of the table has, as W&B gives several runs one name."""
    if not run.name:
        return
    other = next((text for text in reversed(_run_texts(identity)) if text != run.name), str(run.part + 1))
    if run.name in names:
        run.name = storable(f"{run.name} ({other})")
    names.add(run.name)


def _run_texts(identity: Mapping[str, str]) -> list[str]:
    """Return the texts that name a run, names before ids."""
    named = {column: text for column, text in identity.items() if identity_role_of(column) is Role.RUN}
    swept = [f"{plain_name(column)}{text}" for column, text in named.items() if hyperparameter_of(column)]
    order = {name: place for place, name in enumerate(RUN_NAMES)}
    names = sorted(named.keys(), key=lambda column: order.get(plain_name(column), len(order)))
    return [*([" ".join(swept)] if swept else []), *(named[name] for name in names if not hyperparameter_of(name))]


def _stated_settings(identity: Mapping[str, str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for column, text in identity.items():
        role = identity_role_of(column)
        seed = whole_number(parse_number(text)) if role is Role.SEED else None
        swept = parse_number(text) if role is Role.RUN else None
        if swept is not None and (hyperparameter := hyperparameter_of(column)):
            whole = whole_number(swept)
            settings[hyperparameter] = swept if whole is None else whole
        if seed is not None:
            settings["seed"] = seed
        elif role is Role.METHOD:
            settings["method"] = method_of_text(text)
        elif role is Role.MODEL:
            settings["model"] = text
    return settings


def method_of_text(text: str) -> str:
    """Return the method that a cell names: `Evolution Strategies` and `ES (30 members)` are es, `PPO` is ppo."""
    if text.lower().startswith("evolution"):
        return "es"
    return method_from_name(text).get("method") or vocabulary.slug(text)[:MAX_METHOD_LENGTH]


def _name(identity: Mapping[str, str], run: ImportedRun) -> str:
    """Return the name of a run that a column names, or whose method esweb does not have; else an empty text."""
    by_role = defaultdict[Role, list[str]](list)
    for column, text in identity.items():
        by_role[identity_role_of(column)].append(text)
    if runs := _run_texts(identity):
        by_role[Role.RUN] = runs
    if not by_role.keys() & {Role.EXPERIMENT, Role.RUN, Role.MODEL} and run.method in ("", *TRAINING_METHODS):
        return ""
    parts = [by_role[role][0] for role in IDENTITY if role in by_role and role is not Role.SEED]
    label = " ".join(dict.fromkeys(part for part in parts if part))
    has_seed = not by_role[Role.SEED] or seed_of(settings_from_name(label)) == run.seed
    return label if has_seed else f"{label} seed {by_role[Role.SEED][0]}".strip()
