"""A page of a runs table: the rows that the address selects, in a constant number of queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from django.db.models import Count, QuerySet
from django.http import HttpRequest

from runs import metrics
from runs.compare.run_table.columns import NAME, Column
from runs.compare.run_table.conditions import filter_by_terms, sort_bounds
from runs.compare.run_table.grouping import GroupRow, group_runs, is_averaged
from runs.compare.run_table.language import Problem, QueryError, equality_term
from runs.compare.run_table.paging import SORTED, page
from runs.compare.run_table.queries import RunCount, count_runs
from runs.compare.run_table.rows import Row, group_names, rows_of
from runs.compare.run_table.table_query import TableQuery, parse_table_query
from runs.metrics import Provenance
from runs.models import Experiment, Run

RUNS_PER_PAGE = 60
GROUPS_PER_PAGE = 60
MAX_PLOTTED_RUNS = 10
FLAGGED = "flags:any"
MEASUREMENT = {
    "origin": ("origin", "estimator", "decoding"),
    "evaluation.temperature": ("temperature",),
    "evaluation.samples": ("samples",),
}
"""Keys to group by -> fields of a provenance that such groups have in common."""
"""MAX_PLOTTED_RUNS limits the plotted runs behind groups."""


@dataclass(frozen=True)
class Heading:
    """The heading of a column: the address that a click requests, and the current sort direction. ways: measurement of
    the values below it, if they were measured in several ways."""

    column: Column
    address: str
    sorted: str
    ways: tuple[Provenance, ...] = ()


@dataclass(frozen=True)
class GroupTableRow:
    """A row that is a group: the values its runs share, as text, and the addresses of the tables of those runs, and of
    those with an open flag."""

    names: list[str]
    address: str
    row: GroupRow
    flagged_address: str


@dataclass(frozen=True)
class RunsTable:
    """Hold the content of the page.

    `total` is the number of runs, or of groups, that fit the query. `states` counts all runs of the experiment by
    state, without the archived runs, which `archived` counts.
    """

    query: TableQuery
    headings: list[Heading]
    rows: list[Row]
    groups: list[GroupTableRow]
    runs: list[Run]
    total: int
    following: str
    states: list[tuple[str, int]]
    archived: int
    problems: tuple[Problem, ...]

    @property
    def row_count(self) -> int:
        """Return the number of displayed rows, which are runs or groups."""
        return len(self.rows) or len(self.groups)

    @property
    def differing(self) -> list[Heading]:
        """Return the headings of columns whose values were measured differently."""
        return [heading for heading in self.headings if heading.ways]

    @property
    def differing_keys(self) -> frozenset[str]:
        """Return the keys of the columns whose values were measured differently."""
        return frozenset(heading.column.key for heading in self.differing)

    @property
    def by_measurement(self) -> str:
        """Return the address of these groups, grouped by the first of MEASUREMENT that differs, too; empty if none."""
        keys = [column.key for column in self.query.group]
        ways = [heading.ways for heading in self.differing]
        more = (key for key, names in MEASUREMENT.items() if key not in keys and _differs(ways, names))
        return self.query.address(group=[*keys, key]) if (key := next(more, "")) else ""

    @property
    def is_empty(self) -> bool:
        """Return whether the experiment has no run that a list would show, regardless of the query."""
        return not self.states and not self.query.line

    @property
    def is_open(self) -> bool:
        """Return whether one of the displayed runs has not finished."""
        return any(run.is_open for run in self.runs)


def runs_table(request: HttpRequest, experiment: Experiment) -> RunsTable:
    """Return the page of runs that the address selects."""
    query = parse_table_query(request, experiment)
    experiment_runs = experiment.runs.filter(deleted_at__isnull=True).select_related("created_by")
    states, archived = _by_state(experiment_runs)
    runs, problems = filter_runs(experiment_runs, query)
    if query.group:
        return _groups_table(query, runs, states, archived, problems)
    bounds = sort_bounds(query.terms, query.order.column, query.vocabulary, SORTED)
    count = _count_matching(query, runs, states)
    page_runs, cursor = page(runs, query.order, query.after, RUNS_PER_PAGE, bounds, count.few)
    following = f"{query.address()}&after={cursor}" if cursor else ""
    rows = rows_of(page_runs, query.columns)
    return RunsTable(
        query, _headings(query, rows), rows, [], page_runs, count.total, following, states, archived, problems
    )


def filter_runs(runs: QuerySet[Run], query: TableQuery) -> tuple[QuerySet[Run], tuple[Problem, ...]]:
    """Return the runs that the query selects, and its problems; no runs if it has any."""
    if query.problems:
        return runs.none(), query.problems
    try:
        return filter_by_terms(runs, list(query.terms), query.vocabulary), ()
    except QueryError as error:
        return runs.none(), tuple(error.problems)


def steps_of(run: Run) -> int:
    """Return the number of updates that a run will make, from its stored config; 0 if the config does not give it."""
    section = run.config.get(run.method) or {}
    return int(section.get("iterations") or section.get("max_steps") or 0)


def _count_matching(query: TableQuery, runs: QuerySet[Run], states: Sequence[tuple[str, int]]) -> RunCount:
    """Count the runs that match the query. Without terms, add up the counts by state, which were read already."""
    return count_runs(runs) if query.terms else RunCount(sum(count for _, count in states), None)


def _by_state(runs: QuerySet[Run]) -> tuple[list[tuple[str, int]], int]:
    """Return (state, number of runs) of the runs that lists show, and the number of archived runs."""
    counted = runs.order_by("state").values_list("state")
    rows = list(counted.annotate(all=Count("*"), archived=Count("archived_at")))
    return [(state, n - out) for state, n, out in rows if n > out], sum(out for _, _, out in rows)


def _groups_table(
    query: TableQuery, runs: QuerySet[Run], states: list[tuple[str, int]], archived: int, problems: tuple[Problem, ...]
) -> RunsTable:
    numbers = [column for column in query.columns if is_averaged(column)]
    rows, total = group_runs(runs, query.group, numbers, GROUPS_PER_PAGE, with_flags=query.has_flags)
    names = group_names(rows, query.group)
    groups = [
        GroupTableRow(names[row.newest], _group_address(query, row), row, _group_address(query, row, FLAGGED))
        for row in rows
    ]
    measured = {
        column.key: [row.numbers[column.key] for row in rows if column.key in row.numbers] for column in numbers
    }
    headings = [Heading(column, "", "") for column in query.group]
    headings += [
        Heading(column, "", "", _several(w for s in measured[column.key] for w in s.ways)) for column in numbers
    ]
    plotted = list(runs.order_by("-pk")[:MAX_PLOTTED_RUNS])
    return RunsTable(query, headings, [], groups, plotted, total, "", states, archived, problems)


def _group_address(query: TableQuery, row: GroupRow, *more: str) -> str:
    """Return the address of the runs of a group, or of those that also meet more terms."""
    terms = [equality_term(column, value) for column, value in zip(query.group, row.values, strict=True)]
    return query.address(q=" ".join([query.line, *terms, *more]).strip(), group=None)


def _headings(query: TableQuery, rows: Sequence[Row]) -> list[Heading]:
    columns = zip(*(row.cells for row in rows), strict=True)
    ways = [_several(cell.measured for cell in cells) for cells in columns] or [()] * len(query.columns)
    marked = [
        replace(_heading(query, column), ways=several) for column, several in zip(query.columns, ways, strict=True)
    ]
    return [_heading(query, NAME), *marked]


def _differs(ways: Iterable[tuple[Provenance, ...]], names: Iterable[str]) -> bool:
    """Return whether a column's values differ in one of these fields of their provenance."""
    fields = attrgetter(*names)
    return any(len({fields(way) for way in several}) > 1 for several in ways)


def _several(measured: Iterable[Provenance | None]) -> tuple[Provenance, ...]:
    """Return the ways in which values were measured, nothing if all were measured alike."""
    ways = metrics.ways(measured)
    return ways if len(ways) > 1 else ()


def _heading(query: TableQuery, column: Column) -> Heading:
    if not column.is_sortable:
        return Heading(column, "", "")
    is_sorted = query.order.column.key == column.key
    descending = is_sorted and not query.order.descending
    direction = "descending" if query.order.descending else "ascending"
    return Heading(column, query.address(sort=f"{'-' * descending}{column.key}"), direction if is_sorted else "")
