"""Translation of query terms into conditions on runs, by kind of column, with a message for each invalid term."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import reduce
from operator import and_

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext

from runs.compare.run_table.columns import Column, Kind
from runs.compare.run_table.config_conditions import config_condition, json_comparison
from runs.compare.run_table.expressions import STORED, annotate_column, flagged_runs
from runs.compare.run_table.language import Problem, QueryError, Range, Term
from runs.compare.run_table.values import (
    LOOKUPS,
    InvalidTerm,
    any_of,
    comparison,
    parse_bounded_number,
    parse_number,
    parse_time,
    require_operator,
    text_values,
)
from runs.compare.run_table.vocabulary import Vocabulary, unsortable_message
from runs.kinds import UNLISTED_METHODS
from runs.models import Run, Series

COMPUTED = ("step", "time", "origin")
SECTIONS = tuple(f"{method}." for method in UNLISTED_METHODS)
"""Beginnings of the keys of settings that only runs of unlisted kinds have."""


def filter_by_terms(runs: QuerySet[Run], terms: list[Term], vocabulary: Vocabulary) -> QuerySet[Run]:
    """Return the runs that meet every term; archived runs only if a term names `archived`, and runs of
    unlisted kinds only if one names `method` or one of their settings. Raise QueryError."""
    problems = []
    if not any(term.key == "method" or term.key.startswith(SECTIONS) for term in terms):
        runs = runs.trainings()  # type: ignore[attr-defined]
    if not any(term.key == "archived" for term in terms):
        runs = runs.filter(archived_at__isnull=True)
    every = runs
    for term in terms:
        try:
            runs = _filter_by_term(runs, term, vocabulary, every)
        except InvalidTerm as error:
            problems.append(Problem(term.at, term.end, str(error)))
    if problems:
        raise QueryError(problems)
    return runs


def _filter_by_term(runs: QuerySet[Run], term: Term, vocabulary: Vocabulary, every: QuerySet[Run]) -> QuerySet[Run]:
    column = vocabulary.column(term.key or "name")
    if column is not None and column.key == "method":
        column = _with_present_methods(column, term, every)
    if column is None:
        raise InvalidTerm(vocabulary.unknown_key_message(term.key))
    if column.key in COMPUTED:
        runs = annotate_column(runs, column, _name(column))
    condition = CONDITIONS[column.kind](column, term)
    return runs.filter(~condition if term.negated else condition)


def _with_present_methods(column: Column, term: Term, runs: QuerySet[Run]) -> Column:
    """Return the column of methods with those of the runs among its choices, if the term names an unknown one: the
    methods of external runs are any words. One query, only then."""
    if all(value in column.choices for value in term.values):
        return column
    present = runs.order_by().values_list("method", flat=True).distinct()
    return replace(column, choices=tuple(dict.fromkeys((*column.choices, *sorted(present)))))


def _name(column: Column) -> str:
    """Return the column's name in a filter: an annotation's if the value is computed, else a field's."""
    return f"computed_{column.key}" if column.key in COMPUTED else STORED[column.key]


def _text(column: Column, term: Term) -> Q:
    require_operator(term, ":", "~")
    lookup = "icontains" if term.operator == "~" else "iexact"
    matches = any_of([Q(**{f"{_name(column)}__{lookup}": word}) for word in text_values(term)])
    if column.key == "note" and all(text_values(term)):
        return _exists_among(~Q(note=""), matches)
    return matches


def _choice(column: Column, term: Term) -> Q:
    return Q(**{f"{column.key}__in": _checked_choices(column, term)})


def _checked_choices(column: Column, term: Term) -> list[str]:
    require_operator(term, ":")
    for value in term.values:
        if value not in column.choices:
            typed = f"{value.low}..{value.high}" if isinstance(value, Range) else value
            message = gettext("%(key)s must be one of %(choices)s, not %(value)r.")
            raise InvalidTerm(message % {"key": column.key, "choices": ", ".join(column.choices), "value": typed})
    return text_values(term)


def _archived(column: Column, term: Term) -> Q:
    conditions = {"yes": Q(archived_at__isnull=False), "no": Q(archived_at__isnull=True), "any": Q(pk__isnull=False)}
    return any_of([conditions[value] for value in _checked_choices(column, term)])


def _flags(column: Column, term: Term) -> Q:
    """Return the condition that a run has an open flag, or none. The subquery reads the small table of flags once."""
    conditions = {
        value: ~Q(pk__in=flagged_runs()) if value == "none" else Q(pk__in=flagged_runs(value))
        for value in _checked_choices(column, term)
    }
    return any_of(list(conditions.values()))


def _tags(column: Column, term: Term) -> Q:
    require_operator(term, ":", "~")
    tagged = ~Q(tags=[])
    if term.operator == "~":
        return _exists_among(tagged, any_of([Q(tags__icontains=word) for word in text_values(term)]))
    none = ~_exists_among(tagged, Q())
    return any_of(
        [none if word == "none" else _exists_among(Q(tags__contains=[word]), Q()) for word in text_values(term)]
    )


def _exists_among(few: Q, condition: Q) -> Q:
    """Return the condition that a run is one of `few`, which an index finds, and also meets `found`.

    Rows are wide, and with this condition the rows of all other runs need not be read.
    """
    return Q(Exists(Run.objects.filter(few, condition, pk=OuterRef("pk"))))


def _number(column: Column, term: Term) -> Q:
    return comparison(term, _name(column), parse_bounded_number)


def _time(column: Column, term: Term) -> Q:
    return comparison(term, "created_at", parse_time)


def _metric(column: Column, term: Term) -> Q:
    of_key = Series.objects.filter(run=OuterRef("pk"), key=column.metric)
    if term.values in (("none",), ("any",)):
        return Q(Exists(of_key)) if term.values == ("any",) else ~Q(Exists(of_key))
    rows = of_key.filter(comparison(term, column.summary, parse_number))
    if _has_order(term):
        # To PostgreSQL NaN is above every number.
        rows = rows.filter(**{f"{column.summary}__lt": math.nan})
    return Q(Exists(rows))


def _step_value(column: Column, term: Term) -> Q:
    raise InvalidTerm(unsortable_message(column))


def sort_bounds(terms: Iterable[Term], column: Column, vocabulary: Vocabulary, name: str) -> Q | None:
    """Return the bounds that terms set on the value of a metric or config key, which has the SQL name `name`.

    Return None if the terms set no bounds. With the bounds, PostgreSQL reads a sorted index from there on. Every
    run that `matching` selects is within the bounds; `matching` must have accepted the terms before.
    """
    compare = {
        Kind.METRIC: lambda term: comparison(term, name, parse_number),
        Kind.CONFIG: lambda term: json_comparison(term, name),
    }
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
    Kind.TIME: _time,
    Kind.TAGS: _tags,
    Kind.ARCHIVED: _archived,
    Kind.FLAGS: _flags,
    Kind.CONFIG: config_condition,
    Kind.METRIC: _metric,
    Kind.STEP_VALUE: _step_value,
}
