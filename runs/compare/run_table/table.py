"""A page of a runs table: the rows that the address selects, in a constant number of queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest

from runs.compare.run_table.columns import RUN_COUNT, Column
from runs.compare.run_table.conditions import filter_by_terms, sort_bounds
from runs.compare.run_table.grouping import MAX_NUMBER_COLUMNS, GroupRow, group_runs
from runs.compare.run_table.headings import Heading, column_headings, count_heading_of, number_heading
from runs.compare.run_table.language import Problem, QueryError, equality_term, format_term
from runs.compare.run_table.paging import SORTED, page
from runs.compare.run_table.pinned import find_pinned, resolve_pin, with_gaps
from runs.compare.run_table.queries import RunCount, count_runs
from runs.compare.run_table.rows import Row, group_names, rows_of
from runs.compare.run_table.table_query import TableQuery, parse_table_query
from runs.kinds import UNLISTED, Kind
from runs.metrics import Provenance
from runs.models import Experiment, Run
from runs.models.experiment import config_count

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
class GroupTableRow:
    """A row that is a group: the values its runs share, as text, and the addresses of the tables of those runs, and of
    those with an open flag."""

    names: list[str]
    address: str
    row: GroupRow
    flagged_address: str


@dataclass(frozen=True)
class RunCounts:
    """The runs of an experiment: (state, number) of those that lists show, the number of archived runs, and (kind,
    number) of those of kinds that lists leave out, that are not archived."""

    states: list[tuple[str, int]]
    archived: int
    unlisted: list[tuple[Kind, int]]


@dataclass(frozen=True)
class UnlistedRuns:
    """Runs of a kind that lists leave out."""

    kind: Kind
    n: int

    @property
    def query(self) -> str:
        """Return the query that selects them."""
        return format_term("method", ":", *self.kind.methods)

    @property
    def methods(self) -> str:
        return ", ".join(self.kind.methods)

    @property
    def count_text(self) -> str:
        return str(self.kind.unlisted_text % {"n": self.n})

    @property
    def link_text(self) -> str:
        return str(self.kind.show_text % {"n": self.n})


@dataclass(frozen=True)
class RunsTable:
    """Hold the content of the page.

    `total` is the number of runs, or of groups, that fit the query. `states` counts all runs of the experiment by
    state, without those that `archived` and `unlisted` count. `pinned` is the row of the pinned run, which
    `rows` leaves out.
    """

    query: TableQuery
    headings: list[Heading]
    rows: list[Row]
    groups: list[GroupTableRow]
    runs: list[Run]
    total: int
    following: str
    counts: RunCounts
    problems: tuple[Problem, ...]
    pinned: Row | None = None
    count_heading: Heading | None = None

    @property
    def states(self) -> list[tuple[str, int]]:
        return self.counts.states

    @property
    def archived(self) -> int:
        return self.counts.archived

    @property
    def unlisted(self) -> list[UnlistedRuns]:
        """Return the kinds of runs that the experiment has and that its lists leave out."""
        return [UnlistedRuns(kind, n) for kind, n in self.counts.unlisted]

    @property
    def row_count(self) -> int:
        """Return the number of displayed rows that fit the query, which are runs or groups."""
        return len(self.groups) if self.query.group else len(self.runs)

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
    def displayed_runs(self) -> list[Run]:
        """Return the runs of the rows, the pinned one too if the query leaves it out."""
        is_extra = self.pinned is not None and self.pinned.run not in self.runs
        return [self.pinned.run, *self.runs] if self.pinned is not None and is_extra else self.runs

    @property
    def is_open(self) -> bool:
        """Return whether one of the displayed runs has not finished."""
        return any(run.is_open for run in self.displayed_runs)


def runs_table(
    request: HttpRequest, experiment: Experiment, size: int | None = None, *, with_values: bool = True
) -> RunsTable:
    """Return the page of runs or groups that the address selects. size: most rows, for a file; None for a page.

    with_values: False for a reader that needs which runs or groups the page has, but no value of them.
    """
    query = parse_table_query(request, experiment)
    size = min(size, query.max_rows) if size else size
    experiment_runs = experiment.runs.filter(deleted_at__isnull=True).select_related("created_by")
    counts = _count_by_state(experiment_runs)
    runs, problems = filter_runs(experiment_runs, query)
    if query.group:
        numbers = [column for column in query.columns if column.is_measured][:MAX_NUMBER_COLUMNS]
        read_numbers = numbers if with_values else [column for column in numbers if column == query.order.column]
        return _groups_table(query, read_numbers, runs, size or GROUPS_PER_PAGE, (counts, problems))
    pinned_run = None if problems else find_pinned(request, experiment_runs, query)
    query = resolve_pin(query, runs, pinned_run)
    bounds = sort_bounds(query.terms, query.order.column, query.vocabulary, SORTED)
    count = _count_matching(query, runs, counts.states)
    page_runs, cursor = page(runs, query.order, query.after, size or RUNS_PER_PAGE, bounds, count.few)
    following = f"{query.address()}&after={cursor}" if cursor else ""
    if not with_values:
        return RunsTable(query, [], [], [], page_runs, count.total, following, counts, problems)
    others = [run for run in page_runs if run != pinned_run]
    rows = rows_of([pinned_run, *others] if pinned_run else others, query.columns)
    headings = column_headings(query, rows)
    pinned = rows.pop(0) if pinned_run else None
    rows = with_gaps(rows, pinned) if pinned else rows
    return RunsTable(query, headings, rows, [], page_runs, count.total, following, counts, problems, pinned)


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
    return config_count(run.config, run.method, "iterations") or config_count(run.config, run.method, "max_steps")


def _count_matching(query: TableQuery, runs: QuerySet[Run], states: Sequence[tuple[str, int]]) -> RunCount:
    """Count the runs that match the query. Without terms, add up the counts by state, which were read already."""
    return count_runs(runs) if query.terms else RunCount(sum(count for _, count in states), None)


def _count_by_state(runs: QuerySet[Run]) -> RunCounts:
    """Return the numbers of these runs. One query."""
    counted = runs.order_by("state").values_list("state")
    of_kinds = {
        f"{kind.slug}_runs": Count("pk", filter=Q(method__in=kind.methods, archived_at__isnull=True))
        for kind in UNLISTED
    }
    rows = list(counted.annotate(all=Count("*"), archived=Count("archived_at"), **of_kinds))
    states = [(state, n - sum(others)) for state, n, *others in rows if n > sum(others)]
    archived, *unlisted = (sum(row[i] for row in rows) for i in range(2, 3 + len(UNLISTED)))
    return RunCounts(states, archived, [(kind, n) for kind, n in zip(UNLISTED, unlisted, strict=True) if n])


def _groups_table(
    query: TableQuery,
    numbers: Sequence[Column],
    runs: QuerySet[Run],
    size: int,
    counted: tuple[RunCounts, tuple[Problem, ...]],
) -> RunsTable:
    order = query.order if query.order.gap is None else None
    rows, total = group_runs(runs, query.group, numbers, size, order=order, with_flags=query.has_flags)
    names = group_names(rows, query.group)
    groups = [
        GroupTableRow(names[row.newest], _group_address(query, row), row, _group_address(query, row, FLAGGED))
        for row in rows
    ]
    headings = [Heading(column, "", "") for column in query.group]
    headings += [
        number_heading(query, column, [way for row in rows for way in row.numbers[column.key].ways])
        for column in numbers
    ]
    plotted = list(runs.order_by("-pk")[:MAX_PLOTTED_RUNS])
    count_heading = count_heading_of(query, is_default=order is None or order.column not in (RUN_COUNT, *numbers))
    counts, problems = counted
    return RunsTable(query, headings, [], groups, plotted, total, "", counts, problems, None, count_heading)


def _group_address(query: TableQuery, row: GroupRow, *more: str) -> str:
    """Return the address of the runs of a group, or of those that also meet more terms."""
    terms = [equality_term(column, value) for column, value in zip(query.group, row.values, strict=True)]
    line = " ".join([query.line, *terms, *more]).strip()
    return query.address(q=line, group=None, **query.without_group_sort)


def _differs(ways: Iterable[tuple[Provenance, ...]], names: Iterable[str]) -> bool:
    """Return whether a column's values differ in one of these fields of their provenance."""
    fields = attrgetter(*names)
    return any(len({fields(way) for way in several}) > 1 for several in ways)
