"""One page of a runs table: the rows that the address asks for, in a constant number of queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from django.db.models import Count, QuerySet
from django.http import HttpRequest

from runs import metrics
from runs.compare.run_table.columns import NAME, Column
from runs.compare.run_table.conditions import bounding, matching
from runs.compare.run_table.grouping import GroupRow, grouped, is_averaged
from runs.compare.run_table.language import Problem, QueryError, exactly
from runs.compare.run_table.paging import SORTED, page
from runs.compare.run_table.queries import RunCount, find
from runs.compare.run_table.rows import Row, group_names, rows_of
from runs.compare.run_table.table_query import TableQuery, asked_of
from runs.metrics import Provenance
from runs.models import Experiment, Run

RUNS_A_PAGE = 60
GROUPS_A_PAGE = 60
RUNS_OF_GROUPS = 10
MEASUREMENT = {
    "origin": ("origin", "estimator", "decoding"),
    "evaluation.temperature": ("temperature",),
    "evaluation.samples": ("samples",),
}
"""Keys to group by -> fields of a provenance that such groups have in common."""
"""So many of the runs behind groups are drawn."""


@dataclass(frozen=True)
class Heading:
    """The head of a column: the address that a click on it asks for, and how it is sorted now. ways: how the values
    below it were measured, if in several ways."""

    column: Column
    asks: str
    sorted: str
    ways: tuple[Provenance, ...] = ()


@dataclass(frozen=True)
class Grouped:
    """A row that is a group: what its runs share, in words, and the address of the table of those runs."""

    names: list[str]
    address: str
    row: GroupRow


@dataclass(frozen=True)
class RunsTable:
    """Hold the content of the page.

    `total` is the number of runs, or of groups, that fit the query. `states` counts all runs of the experiment by
    state, without the archived runs, which `archived` counts.
    """

    asked: TableQuery
    headings: list[Heading]
    rows: list[Row]
    groups: list[Grouped]
    runs: list[Run]
    total: int
    following: str
    states: list[tuple[str, int]]
    archived: int
    problems: tuple[Problem, ...]

    @property
    def shown(self) -> int:
        """Return the number of shown rows, which are runs or groups."""
        return len(self.rows) or len(self.groups)

    @property
    def differing(self) -> list[Heading]:
        """The heads of columns whose values were measured differently."""
        return [heading for heading in self.headings if heading.ways]

    @property
    def differing_keys(self) -> frozenset[str]:
        """The keys of those columns."""
        return frozenset(heading.column.key for heading in self.differing)

    @property
    def by_measurement(self) -> str:
        """Return the address of these groups, grouped by the first of MEASUREMENT that differs, too; empty if none."""
        keys = [column.key for column in self.asked.group]
        ways = [heading.ways for heading in self.differing]
        more = (key for key, names in MEASUREMENT.items() if key not in keys and _differs(ways, names))
        return self.asked.address(group=[*keys, key]) if (key := next(more, "")) else ""

    @property
    def is_empty(self) -> bool:
        """True where the experiment has no run that a list would show, whatever is asked."""
        return not self.states and not self.asked.line

    @property
    def is_open(self) -> bool:
        """True while one of the shown runs has not ended."""
        return any(run.is_open for run in self.runs)


def runs_table(request: HttpRequest, experiment: Experiment) -> RunsTable:
    """The page of runs that the address asks for."""
    asked = asked_of(request, experiment)
    kept = experiment.runs.filter(deleted_at__isnull=True).select_related("created_by")
    states, archived = _by_state(kept)
    runs, problems = fitting(kept, asked)
    if asked.group:
        return _of_groups(asked, runs, states, archived, problems)
    bounds = bounding(asked.terms, asked.order.column, asked.vocabulary, SORTED)
    found = _found(asked, runs, states)
    shown, place = page(runs, asked.order, asked.after, RUNS_A_PAGE, bounds, found.few)
    following = f"{asked.address()}&after={place}" if place else ""
    rows = rows_of(shown, asked.columns)
    return RunsTable(asked, _headings(asked, rows), rows, [], shown, found.total, following, states, archived, problems)


def fitting(runs: QuerySet[Run], asked: TableQuery) -> tuple[QuerySet[Run], tuple[Problem, ...]]:
    """The runs that the query asks for, none of them where it has problems; and those."""
    if asked.problems:
        return runs.none(), asked.problems
    try:
        return matching(runs, list(asked.terms), asked.vocabulary), ()
    except QueryError as error:
        return runs.none(), tuple(error.problems)


def steps_of(run: Run) -> int:
    """Updates that a run will make, from its stored config; 0 where that does not say."""
    section = run.config.get(run.method) or {}
    return int(section.get("iterations") or section.get("max_steps") or 0)


def _found(asked: TableQuery, runs: QuerySet[Run], states: Sequence[tuple[str, int]]) -> RunCount:
    """The runs that fit the query. Where it asks for nothing, they have been counted already, by state."""
    return find(runs) if asked.terms else RunCount(sum(count for _, count in states), None)


def _by_state(runs: QuerySet[Run]) -> tuple[list[tuple[str, int]], int]:
    """(state, runs in it) of those that lists show, and how many were archived."""
    counted = runs.order_by("state").values_list("state")
    rows = list(counted.annotate(all=Count("*"), archived=Count("archived_at")))
    return [(state, n - out) for state, n, out in rows if n > out], sum(out for _, _, out in rows)


def _of_groups(
    asked: TableQuery, runs: QuerySet[Run], states: list[tuple[str, int]], archived: int, problems: tuple[Problem, ...]
) -> RunsTable:
    numbers = [column for column in asked.columns if is_averaged(column)]
    rows, total = grouped(runs, asked.group, numbers, GROUPS_A_PAGE)
    names = group_names(rows, asked.group)
    groups = [Grouped(names[row.newest], _inside(asked, row), row) for row in rows]
    measured = {
        column.key: [row.numbers[column.key] for row in rows if column.key in row.numbers] for column in numbers
    }
    headings = [Heading(column, "", "") for column in asked.group]
    headings += [
        Heading(column, "", "", _several(w for s in measured[column.key] for w in s.ways)) for column in numbers
    ]
    drawn = list(runs.order_by("-pk")[:RUNS_OF_GROUPS])
    return RunsTable(asked, headings, [], groups, drawn, total, "", states, archived, problems)


def _inside(asked: TableQuery, row: GroupRow) -> str:
    """The address of the runs of a group."""
    terms = [exactly(column, value) for column, value in zip(asked.group, row.values, strict=True)]
    return asked.address(q=" ".join([asked.line, *terms]).strip(), group=None)


def _headings(asked: TableQuery, rows: Sequence[Row]) -> list[Heading]:
    columns = zip(*(row.cells for row in rows), strict=True)
    ways = [_several(cell.measured for cell in cells) for cells in columns] or [()] * len(asked.columns)
    marked = [
        replace(_heading(asked, column), ways=several) for column, several in zip(asked.columns, ways, strict=True)
    ]
    return [_heading(asked, NAME), *marked]


def _differs(ways: Iterable[tuple[Provenance, ...]], names: Iterable[str]) -> bool:
    """Return whether a column's values differ in one of these fields of their provenance."""
    fields = attrgetter(*names)
    return any(len({fields(way) for way in several}) > 1 for several in ways)


def _several(measured: Iterable[Provenance | None]) -> tuple[Provenance, ...]:
    """Return the ways in which values were measured, nothing if all were measured alike."""
    found = metrics.ways(measured)
    return found if len(found) > 1 else ()


def _heading(asked: TableQuery, column: Column) -> Heading:
    if not column.is_sortable:
        return Heading(column, "", "")
    is_sorted = asked.order.column.key == column.key
    descending = is_sorted and not asked.order.descending
    direction = "descending" if asked.order.descending else "ascending"
    return Heading(column, asked.address(sort=f"{'-' * descending}{column.key}"), direction if is_sorted else "")
