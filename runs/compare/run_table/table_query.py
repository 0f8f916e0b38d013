"""Parse the address of a runs table: which runs it selects, in which order, groups and columns.

    ?q=state:failed kl<1&sort=-kl&col=state&col=es.sigma&group=recipe&spread=ci&after=…
    ?pin=k3m9x2p7qa&sort=-gap:kl

The query builder's forms send further parameters. The response is a redirect to the equivalent address.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Exists
from django.http import HttpRequest, QueryDict
from django.utils.functional import cached_property
from django.utils.translation import gettext

from runs.compare.run_table.columns import FIRST_DEFAULTS, LAST_DEFAULTS, RUN_COUNT, Column, Kind
from runs.compare.run_table.expressions import flagged_runs
from runs.compare.run_table.language import OPERATORS, Problem, QueryError, Term, format_term, parse, remove_term
from runs.compare.run_table.orders import parse_order
from runs.compare.run_table.paging import NotACursor, Order, PageCursor
from runs.compare.run_table.spreads import SPREADS, STD, spread_words
from runs.compare.run_table.step_values import MAX_STEP_RUNS, step_columns
from runs.compare.run_table.vocabulary import DEFAULT_METRICS, Vocabulary
from runs.compare.run_table.vocabulary import vocabulary as vocabulary_of
from runs.http import UnknownChoice, must_be_one_of, not_offered, warn
from runs.metrics import HEADLINE_KEYS, has_task_metrics, headline_metrics, resolve_fallbacks
from runs.models import Experiment

MAX_COLUMNS = 20
MAX_GROUP_COLUMNS = 4
MAX_EXPORTED_ROWS = 10_000
BUILDER = ("key", "op", "value", "add", "keep")


@dataclass(frozen=True)
class TableQuery:
    """The state of the table. `problems` are those of the query; if there are any, no run is shown."""

    line: str
    terms: tuple[Term, ...]
    problems: tuple[Problem, ...]
    order: Order
    columns: tuple[Column, ...]
    group: tuple[Column, ...]
    after: PageCursor | None
    vocabulary: Vocabulary
    parameters: QueryDict
    spread: str = STD
    pin: str = ""

    def address(self, **changes: str | Sequence[str] | None) -> str:
        """Return the query string of this state with some parameters changed, on its first page."""
        new = self.parameters.copy()
        for name in ("after", *BUILDER):
            new.pop(name, None)
        for name, value in changes.items():
            new.pop(name, None)
            if value:
                new.setlist(name, [value] if isinstance(value, str) else list(value))
        return f"?{new.urlencode(safe=':/.,<>=~@')}"

    @property
    def has_flags(self) -> bool:
        """Return whether one of the columns shows flags."""
        return any(column.kind is Kind.FLAGS for column in self.columns)

    @property
    def first(self) -> str:
        return self.address()

    @property
    def unfiltered(self) -> str:
        return self.address(q=None)

    @property
    def default_columns(self) -> str:
        return self.address(col=None)

    @property
    def ungrouped(self) -> str:
        """Return the address of the single runs, which cannot be sorted by the number of a group's runs."""
        return self.address(group=None, **self.without_group_sort)

    @property
    def without_group_sort(self) -> dict[str, None]:
        """Return the change of an address that leaves out the order by a group's runs."""
        return {"sort": None} if self.order.column == RUN_COUNT else {}

    @property
    def spreads(self) -> list[tuple[str, str, str]]:
        """Return each spread that cells of groups can show: its name, its label and its address."""
        return [(name, gettext(label), self.address(spread=name)) for name, label in SPREADS.items()]

    @property
    def spread_words(self) -> str:
        """Return a sentence that says what ± is in the cells of groups."""
        return spread_words(self.spread)

    @property
    def max_rows(self) -> int:
        """Return the most rows of a file: fewer if points must be read for values at a step."""
        return MAX_STEP_RUNS if step_columns(self.columns) and not self.group else MAX_EXPORTED_ROWS

    @property
    def csv_query(self) -> str:
        """Return the query string of the table's file for programs."""
        return self.address(**{"as": "csv"})

    @property
    def latex_query(self) -> str:
        """Return the query string of the table's file for papers."""
        return self.address(**{"as": "latex"})

    @property
    def everything(self) -> list[tuple[str, str]]:
        """Return the parameters that a form must carry, so that everything but its own fields stays the same."""
        return self._carried()

    @property
    def hidden(self) -> list[tuple[str, str]]:
        return self._carried("q")

    @property
    def without_columns(self) -> list[tuple[str, str]]:
        return self._carried("col")

    @property
    def without_group(self) -> list[tuple[str, str]]:
        return self._carried("group", *self.without_group_sort)

    @property
    def without_pin(self) -> list[tuple[str, str]]:
        """Return the parameters that a form must carry to pin another run."""
        return self._carried("pin")

    @property
    def unpinned(self) -> list[tuple[str, str]]:
        """Return the parameters that a form must carry to pin no run, so that no order depends on it."""
        return self._carried("pin", *(() if self.order.gap is None else ("sort",)))

    def _carried(self, *excluded: str) -> list[tuple[str, str]]:
        left_out = {"after", *BUILDER, *excluded}
        return [(name, v) for name, values in self.parameters.lists() if name not in left_out for v in values]

    @cached_property
    def chips(self) -> list[tuple[str, str]]:
        """Return each term as it is written, with the address without it."""
        return [(self.line[t.at : t.end], self.address(q=remove_term(self.line, t))) for t in self.terms]


def parse_table_query(request: HttpRequest, experiment: Experiment, sent: QueryDict | None = None) -> TableQuery:
    """Return the table query in the address, or in `sent`. Raise UnknownChoice for an unknown group.

    Other problems are reported on the page, which still appears: users type queries, and the rest is only display.
    """
    sent = request.GET if sent is None else sent
    vocabulary = vocabulary_of(experiment)
    line = sent.get("q", "")
    try:
        terms, problems = parse(line), []
    except QueryError as error:
        terms, problems = [], error.problems
    columns = _columns(request, sent, vocabulary) or _columns_of(vocabulary, _default_keys(experiment, vocabulary))
    groups = _groups(sent, vocabulary)
    order = parse_order(request, sent, vocabulary, is_grouped=bool(groups))
    return TableQuery(
        line, tuple(terms), tuple(problems), order, tuple(columns), groups, _after(request, sent, order), vocabulary,
        sent, _spread(request, sent), sent.get("pin", "").strip(),
    )  # fmt: skip


def apply_builder(request: HttpRequest, query: TableQuery) -> str | None:
    """Return the address that a submitted form of the query builder denotes; None if none was submitted."""
    sent = request.GET
    if sent.get("key"):
        term = format_term(sent["key"].strip(), _operator(sent.get("op", ":")), *_parts(sent.get("value", "")))
        return query.address(q=f"{query.line} {term}".strip())
    if "keep" in sent:
        keys = [*sent.getlist("col"), *sent.get("add", "").split()]
        return query.address(col=list(dict.fromkeys(keys)))
    return None


def _parts(value: str) -> list[str]:
    """Split a typed value into alternatives at its commas; `two words` are one value."""
    return [part.strip() for part in value.split(",")]


def _operator(operator: str) -> str:
    if operator not in OPERATORS:
        raise UnknownChoice(must_be_one_of("op", OPERATORS, operator))
    return operator


def _default_keys(experiment: Experiment, vocabulary: Vocabulary) -> list[str]:
    """Return the keys of the default columns: with flags if a current run of the experiment has an open one, and with
    the headline metrics that runs have recorded or that the task of the newest run has. One query."""
    runs, (state, *others) = experiment.runs.current().trainings(), FIRST_DEFAULTS
    newest = runs.order_by("-pk").annotate(has_flags=Exists(runs.filter(pk__in=flagged_runs())))
    task, has_flags = newest.values_list("config__task__name", "has_flags").first() or ("", False)
    # The config of an imported run may have any form.
    task = task if isinstance(task, str) else ""
    flags = ["flags"] if has_flags else []
    named = [metric.key for metric in headline_metrics(task) if not metric.fallback_for]
    expected = named if has_task_metrics(task) else DEFAULT_METRICS
    recorded = vocabulary.metrics
    metrics = resolve_fallbacks((key for key in HEADLINE_KEYS if key in expected or key in recorded), recorded)
    return [state, *flags, *others, *metrics, *LAST_DEFAULTS]


def _columns_of(vocabulary: Vocabulary, keys: Sequence[str]) -> list[Column]:
    return [column for column in map(vocabulary.column, keys) if column is not None]


def _columns(request: HttpRequest, sent: QueryDict, vocabulary: Vocabulary) -> list[Column]:
    keys = list(dict.fromkeys(key for key in sent.getlist("col") if key))
    for key in keys:
        if vocabulary.column(key) is None:
            warn(request, vocabulary.unknown_key_message(key))
    if len(keys) > MAX_COLUMNS:
        message = gettext("%(name)s takes at most %(n)s keys: showing the first %(n)s.")
        warn(request, message % {"name": "col", "n": MAX_COLUMNS})
    return _columns_of(vocabulary, keys[:MAX_COLUMNS])


def _groups(sent: QueryDict, vocabulary: Vocabulary) -> tuple[Column, ...]:
    """Return the columns to group by. Raise UnknownChoice: rows of other groups, or of none, are other data."""
    keys = list(dict.fromkeys(key for key in sent.getlist("group") if key))
    columns = _columns_of(vocabulary, keys)
    usable = [column.key for column in columns if column.is_groupable]
    if unusable := [key for key in keys if key not in usable]:
        choices = [column.key for column in _columns_of(vocabulary, list(vocabulary.keys)) if column.is_groupable]
        raise UnknownChoice(must_be_one_of("group", choices, unusable[0]))
    if len(keys) > MAX_GROUP_COLUMNS:
        message = gettext("group takes at most %(n)s keys, not %(count)s.")
        raise UnknownChoice(message % {"n": MAX_GROUP_COLUMNS, "count": len(keys)})
    return tuple(columns)


def _spread(request: HttpRequest, sent: QueryDict) -> str:
    spread = sent.get("spread") or STD
    if spread in SPREADS:
        return spread
    warn(request, not_offered("spread", tuple(SPREADS), spread, STD))
    return STD


def _after(request: HttpRequest, sent: QueryDict, order: Order) -> PageCursor | None:
    text = sent.get("after")
    try:
        return order.parse_cursor(text) if text else None
    except NotACursor:
        warn(request, gettext("Unknown page: showing the first."))
        return None
