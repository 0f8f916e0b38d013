"""The first of two passes over a table: which column holds the steps, which name runs, and how numbers are written."""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from runs.importing.decimal_signs import DecimalSigns
from runs.importing.readers.table_columns import (
    IDENTITY,
    TIMES,
    Role,
    chart_columns,
    long_columns,
    role_of,
)
from runs.importing.readers.table_records import JSON_LINES, Layout, Record, records
from runs.importing.readers.table_separation import Separation, is_split
from runs.importing.readers.timestamps import parse_timestamp
from runs.importing.records import ImportReport
from runs.importing.steps import STEP_NAMES, TRACKER_STEP, parse_step

MIN_TIME = 1e8
"""Smallest number, in the year 1973, that is a time and no duration in a column `timestamp` or `wall_time`."""
Identity = tuple[tuple[str, str], ...]
"""(column, text) of the cells of a row that name its run."""
RunKey = tuple[str, ...]
"""Texts of the columns that tell runs apart."""
SEVERAL = ""
"""Steps of rows of one identity that differ: no step has this text."""


@dataclass(frozen=True)
class TableRow:
    """The cells of one run in one record. `chart_run`: the run that the heading of a chart names; else empty."""

    line: int
    cells: Mapping[str, Any]
    chart_run: str = ""


@dataclass
class Survey:
    """Survey of all rows of a table. `add` sees each row, `settle` decides."""

    layout: Layout
    separated_by: tuple[str, ...] = ()
    """Columns that separate rows, though their names do not say so: see `table_separation`."""
    signs: DecimalSigns = field(default_factory=DecimalSigns)
    step: str = ""
    """Column of the steps."""
    time: str = ""
    runtime: str = ""
    totals: frozenset[str] = frozenset()
    """Columns of totals, each of one value within a run."""
    identity: tuple[str, ...] = ()
    """Columns whose values tell runs apart."""
    names: frozenset[str] = frozenset()
    """Columns that name runs: those of `identity`, and others of which each run has one value."""
    identities: dict[RunKey, dict[str, str]] = field(default_factory=dict)
    """Texts of the columns of `names` of each run, by those that tell runs apart."""

    def __post_init__(self) -> None:
        self.chart = chart_columns(self.layout.columns)
        self.metric, self.value = long_columns(self.layout.columns)
        self.split = self.separated_by[0] if is_split(self.separated_by) else ""
        self._roles = dict.fromkeys(() if self.split else self.separated_by, Role.RUN)
        self._separation = None if self.separated_by or self.chart else Separation()
        self._stated_steps = Counter[str]()
        self._not_times = set[str]()
        self._times = dict[str, None]()
        self._values: defaultdict[str, set[str]] = defaultdict(set)
        self._identities: dict[Identity, str] = {}
        self._totals: dict[tuple[str, Identity], str] = {}
        self._varying_totals = set[str]()
        self._joined: dict[RunKey, RunKey] = {}

    @property
    def has_several_runs(self) -> bool:
        """Return whether rows must be sorted by run, or by series, before they are records."""
        return bool(self.chart or self.identity or self.is_long)

    @property
    def is_long(self) -> bool:
        """Return whether the cells of a row name its series, or a part of their names."""
        return bool(self.metric or self.split)

    def series_of(self, cells: Mapping[str, Any]) -> str:
        """Return what the cells of a row say of the name of its series: a split, a metric, or `split/metric`."""
        texts = (str(cells.get(column) or "").strip() for column in (self.split, self.metric) if column)
        return "/".join(filter(None, texts))

    def role(self, column: str) -> Role:
        """Return what a column holds."""
        if column not in self._roles:
            self._roles[column] = role_of(column)
        return self._roles[column]

    def rows(self, record: Record) -> Iterator[TableRow]:
        """Yield the rows of a record: one, or one for each run of a chart that has a cell in it."""
        if not self.chart:
            yield TableRow(record.line, record.cells)
            return
        common = {name: cell for name, cell in record.cells.items() if name not in self.chart}
        runs: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        for column, (run, metric) in self.chart.items():
            if not is_blank(cell := record.cells.get(column)):
                runs[run][metric] = cell
        for run, cells in runs.items():
            yield TableRow(record.line, common | cells, run)

    def add(self, row: TableRow) -> None:
        """Take a row into account."""
        identity, step = list[tuple[str, str]](), ""
        totals = list[tuple[str, str]]()
        for column, cell in row.cells.items():
            if is_blank(cell):
                continue
            role = self._roles.get(column) or self.role(column)
            if isinstance(cell, str | int | float) and not isinstance(cell, bool):
                self.signs.see(column, cell)
            if role is Role.STEP and (stated := parse_step(cell)) is not None:
                self._stated_steps[column] += 1
                step = step or str(stated.step)
            elif role in IDENTITY and (column in self.separated_by or not isinstance(cell, list | float)):
                identity.append((column, str(cell).strip()))
            elif role is Role.TOTAL:
                totals.append((column, str(cell).strip()))
            elif role in (Role.TIME, Role.RUNTIME):
                self._see_time(column, role, cell)
        self._see_identity(tuple(identity), step, totals)
        if self._separation is not None:
            run = (tuple(identity), str(row.cells.get(self.metric) or ""))
            cells = {column: cell for column, cell in row.cells.items() if column != self.metric}
            self._separation.add(cells, int(step) if step else None, run)

    def separating_columns(self) -> tuple[str, ...]:
        """Return the columns by which rows must be separated, in another survey; none if this one separates them."""
        return () if self._separation is None else self._separation.columns()

    def settle(self) -> None:
        """Decide, once all rows are seen."""
        self.signs.settle("," if self.layout.delimiter == JSON_LINES else self.layout.delimiter)
        self.step = self._step_column()
        self.time = self._first_of(Role.TIME)
        self.runtime = self._first_of(Role.RUNTIME)
        self.totals = frozenset({column for column, _ in self._totals} - self._varying_totals)
        self.identity = self._identity_columns()
        self._join_incomplete_identities()
        self.names = self._name_columns()
        for identity in self._identities:
            texts = {column: text for column, text in identity if column in self.names}
            self.identities.setdefault(self.run_key(texts), {}).update(texts)

    def _see_time(self, column: str, role: Role, cell: Any) -> None:
        self._times.setdefault(column)
        if role is Role.TIME and column.lower() != TIMES[0] and column not in self._not_times:
            number, _ = self.signs.parse(column, cell) if isinstance(cell, str) else (cell, "")
            is_number_of_time = isinstance(number, int | float) and number >= MIN_TIME
            if not is_number_of_time and (number is not None or parse_timestamp(cell) is None):
                self._not_times.add(column)

    def _see_identity(self, identity: Identity, step: str, totals: list[tuple[str, str]]) -> None:
        for column, text in identity:
            self._values[column].add(text)
        if step:
            known = self._identities.setdefault(identity, step)
            self._identities[identity] = known if known == step else SEVERAL
        for column, text in totals:
            if self._totals.setdefault((column, identity), text) != text:
                self._varying_totals.add(column)

    def _step_column(self) -> str:
        """Return the column that most rows state, of equal ones the first of STEP_NAMES; W&B's own one if no other."""
        columns = [column for column in self._stated_steps if column.lower() != TRACKER_STEP]
        return max(
            columns or self._stated_steps,
            key=lambda column: (self._stated_steps[column], -STEP_NAMES.index(column.lower())),
            default="",
        )

    def _first_of(self, role: Role) -> str:
        columns = [column for column in self._times if self.role(column) is role and column not in self._not_times]
        return min(columns, key=lambda column: (column.lower() != TIMES[0], column), default="")

    def _identity_columns(self) -> tuple[str, ...]:
        columns = [column for column, values in self._values.items() if len(values) > 1]
        if not self._do_seeds_name_runs():
            columns = [column for column in columns if self.role(column) is not Role.SEED]
        return tuple(sorted(columns, key=lambda column: IDENTITY.index(self.role(column))))

    def _name_columns(self) -> frozenset[str]:
        """Return the columns of which each run has one value."""
        values: defaultdict[tuple[str, RunKey], set[str]] = defaultdict(set)
        for identity in self._identities:
            key = self.run_key(dict(identity))
            for column, text in identity:
                values[column, key].add(text)
        return frozenset(self._values) - {column for (column, _), texts in values.items() if len(texts) > 1}

    def _join_incomplete_identities(self) -> None:
        """Let rows that lack a cell belong to the one run that agrees in all others."""
        keys = {tuple(dict(identity).get(column, "") for column in self.identity) for identity in self._identities}
        whole = [key for key in keys if all(key)]
        for pattern in {tuple(map(bool, key)) for key in keys} - {(True,) * len(self.identity)}:
            candidates = defaultdict[RunKey, list[RunKey]](list)
            for key in whole:
                candidates[_masked(key, pattern)].append(key)
            self._joined |= {part: joined[0] for part, joined in candidates.items() if len(joined) == 1}

    def run_key(self, cells: Mapping[str, Any]) -> RunKey:
        """Return which run a row belongs to."""
        key = tuple("" if is_blank(cell := cells.get(column)) else str(cell).strip() for column in self.identity)
        return key if all(key) else self._joined.get(key, key)

    def _do_seeds_name_runs(self) -> bool:
        """Return whether a run of one seed has several steps, or all seeds of a method have the same one.

        In other tables a seed is that of a step or of a member, such as that of an ES iteration's noise.
        """
        steps: defaultdict[Identity, set[str]] = defaultdict(set)
        for identity, step in self._identities.items():
            steps[tuple(part for part in identity if self.role(part[0]) is not Role.SEED)].add(step)
        return any(SEVERAL in stated for stated in steps.values()) or all(len(stated) == 1 for stated in steps.values())


def survey_of(file: io.BufferedReader, start: int, layout: Layout, separated_by: tuple[str, ...] = ()) -> Survey:
    """Return what all rows of a file state together."""
    file.seek(start)
    survey = Survey(layout, separated_by)
    for record in records(file, layout, ImportReport()):
        for row in survey.rows(record):
            survey.add(row)
    survey.settle()
    return survey


def _masked(key: RunKey, pattern: tuple[bool, ...]) -> RunKey:
    return tuple(text if is_stated else "" for text, is_stated in zip(key, pattern, strict=True))


def is_blank(cell: Any) -> bool:
    """Return whether a cell is empty."""
    return cell is None or (isinstance(cell, str) and not cell.strip())
