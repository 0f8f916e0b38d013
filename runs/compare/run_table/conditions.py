"""Terms of a query -> rows: what each kind of column can be asked for, and what is said where it cannot."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import and_

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext

from runs.compare.run_table.columns import Column, Kind, Vocabulary
from runs.compare.run_table.config_conditions import in_config, numbers_of
from runs.compare.run_table.expressions import STORED, annotated
from runs.compare.run_table.language import Problem, QueryError, Range, Term
from runs.compare.run_table.values import LOOKUPS, Unfit, any_of, compared, moment, number, only, whole, words
from runs.models import Run, Series

COMPUTED = ("step", "time", "origin")


def matching(runs: QuerySet[Run], terms: list[Term], vocabulary: Vocabulary) -> QuerySet[Run]:
    """The runs for which every term holds; archived ones only where the query speaks of them. Raises QueryError."""
    problems = []
    if not any(term.key == "archived" for term in terms):
        runs = runs.filter(archived_at__isnull=True)
    for term in terms:
        try:
            runs = _holding(runs, term, vocabulary)
        except Unfit as error:
            problems.append(Problem(term.at, term.end, str(error)))
    if problems:
        raise QueryError(problems)
    return runs


def _holding(runs: QuerySet[Run], term: Term, vocabulary: Vocabulary) -> QuerySet[Run]:
    column = vocabulary.column(term.key or "name")
    if column is None:
        raise Unfit(vocabulary.complaint(term.key))
    if column.key in COMPUTED:
        runs = annotated(runs, column, _name(column))
    condition = CONDITIONS[column.kind](column, term)
    return runs.filter(~condition if term.negated else condition)


def _name(column: Column) -> str:
    """Return the column's name in a filter: an annotation's if the value is computed, else a field's."""
    return f"asked_{column.key}" if column.key in COMPUTED else STORED[column.key]


def _text(column: Column, term: Term) -> Q:
    only(term, ":", "~")
    lookup = "icontains" if term.operator == "~" else "iexact"
    found = any_of([Q(**{f"{_name(column)}__{lookup}": word}) for word in words(term)])
    if column.key == "note" and all(words(term)):
        return _among_those(~Q(note=""), found)
    return found


def _choice(column: Column, term: Term) -> Q:
    return Q(**{f"{column.key}__in": _chosen(column, term)})


def _chosen(column: Column, term: Term) -> list[str]:
    only(term, ":")
    for value in term.values:
        if value not in column.choices:
            said = f"{value.low}..{value.high}" if isinstance(value, Range) else value
            words_for_it = gettext("%(key)s must be one of %(choices)s, not %(said)r.")
            raise Unfit(words_for_it % {"key": column.key, "choices": ", ".join(column.choices), "said": said})
    return words(term)


def _archived(column: Column, term: Term) -> Q:
    asked = {"yes": Q(archived_at__isnull=False), "no": Q(archived_at__isnull=True), "any": Q(pk__isnull=False)}
    return any_of([asked[value] for value in _chosen(column, term)])


def _tags(column: Column, term: Term) -> Q:
    only(term, ":", "~")
    tagged = ~Q(tags=[])
    if term.operator == "~":
        return _among_those(tagged, any_of([Q(tags__icontains=word) for word in words(term)]))
    none = ~_among_those(tagged, Q())
    return any_of([none if word == "none" else _among_those(Q(tags__contains=[word]), Q()) for word in words(term)])


def _among_those(few: Q, found: Q) -> Q:
    """Return the condition that a run is one of `few`, which an index finds, and also meets `found`.

    Rows are wide, and with this condition the rows of all other runs need not be read.
    """
    return Q(Exists(Run.objects.filter(few, found, pk=OuterRef("pk"))))


def _number(column: Column, term: Term) -> Q:
    return compared(term, _name(column), whole)


def _moment(column: Column, term: Term) -> Q:
    return compared(term, "created_at", moment)


def _metric(column: Column, term: Term) -> Q:
    of_key = Series.objects.filter(run=OuterRef("pk"), key=column.metric)
    if term.values in (("none",), ("any",)):
        return Q(Exists(of_key)) if term.values == ("any",) else ~Q(Exists(of_key))
    rows = of_key.filter(compared(term, column.summary, number))
    if _has_order(term):
        # To PostgreSQL NaN is above every number.
        rows = rows.filter(**{f"{column.summary}__lt": math.nan})
    return Q(Exists(rows))


def bounding(terms: Iterable[Term], column: Column, vocabulary: Vocabulary, name: str) -> Q | None:
    """Return the bounds that terms set on the value of a metric or config key, which has the SQL name `name`.

    Return None if the terms set no bounds. With the bounds, PostgreSQL reads a sorted index from there on. Every
    run that `matching` selects is within the bounds; `matching` must have accepted the terms before.
    """
    compare = {Kind.METRIC: lambda term: compared(term, name, number), Kind.CONFIG: lambda term: numbers_of(term, name)}
    own = [term for term in terms if _has_order(term) and not term.negated and vocabulary.column(term.key) == column]
    if column.kind not in compare or not own:
        return None
    return reduce(and_, map(compare[column.kind], own))


def _has_order(term: Term) -> bool:
    return term.operator in LOOKUPS or any(isinstance(value, Range) for value in term.values)


CONDITIONS: Mapping[Kind, Callable[[Column, Term], Q]] = {
    Kind.TEXT: _text,
    Kind.CHOICE: _choice,
    Kind.NUMBER: _number,
    Kind.MOMENT: _moment,
    Kind.TAGS: _tags,
    Kind.ARCHIVED: _archived,
    Kind.CONFIG: in_config,
    Kind.METRIC: _metric,
}
