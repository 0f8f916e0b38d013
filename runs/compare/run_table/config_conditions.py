"""Conditions on a key of the config, which is JSON: a word may be a text, a number or a boolean."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import Exists, F, Func, OuterRef, Q, QuerySet, TextField, Value
from django.db.models.functions import Length
from django.db.models.lookups import IContains

from runs.compare.run_table.columns import Column
from runs.compare.run_table.language import Range, Term
from runs.compare.run_table.values import (
    LOOKUPS,
    InvalidTerm,
    any_of,
    parse_bounded_number,
    parse_number,
    range_bounds,
    require_operator,
    text_values,
)
from runs.models import Knob

TRUTHS = {"true": True, "false": False}
MAX_STORED_TEXT = 200
"""Characters of a long text that are stored in a `Knob` row."""
BELOW_NUMBERS, ABOVE_NUMBERS = -1e300, False
"""Bounds of numbers among JSON values, which sort as text, number, boolean. Stored numbers have at most 200 digits."""


def config_condition(column: Column, term: Term) -> Q:
    """Return the condition of a term on a config key. Raise InvalidTerm."""
    require_operator(term, ":", "~", *LOOKUPS)
    if term.operator == "~":
        return any_of([_contains(column, word) for word in text_values(term)])
    if term.operator in LOOKUPS:
        return Q(Exists(_stored_values(column).filter(json_comparison(term, "value"))))
    return any_of([_is(column, value) for value in term.values])


def json_comparison(term: Term, name: str) -> Q:
    """Return the term's comparison with the JSON value of this name. No text meets it. Raise InvalidTerm."""
    if term.operator in LOOKUPS:
        return _between({LOOKUPS[term.operator]: parse_bounded_number(str(term.values[0]))}, name)
    return any_of(
        [
            _between(range_bounds(value, parse_bounded_number), name)
            if isinstance(value, Range)
            else _one_of(value, name)
            for value in term.values
        ]
    )


def _stored_values(column: Column) -> QuerySet[Knob]:
    return Knob.objects.filter(run=OuterRef("pk"), key=column.key)


def _is(column: Column, value: str | Range) -> Q:
    if isinstance(value, Range):
        return Q(Exists(_stored_values(column).filter(_between(range_bounds(value, parse_bounded_number), "value"))))
    if value in ("none", "any"):
        return Q(Exists(_stored_values(column))) if value == "any" else ~Q(Exists(_stored_values(column)))
    if len(json.dumps(value)) <= MAX_STORED_TEXT:
        return Q(Exists(_stored_values(column).filter(_one_of(value, "value"))))
    # The index on the config serves this condition.
    return Q(config__contains=_nested(column.path, value))


def _one_of(word: str, name: str) -> Q:
    return Q(**{f"{name}__in": _json_values(word)})


def _json_values(word: str) -> list[Any]:
    """Return the JSON values that a word may denote."""
    out: list[Any] = [word]
    if word in TRUTHS:
        out.append(TRUTHS[word])
    if re.fullmatch(r"-?\d{1,18}", word, re.ASCII):
        return [*out, int(word)]
    try:
        value = parse_number(word)
    except InvalidTerm:
        return out
    return [*out, value] if math.isfinite(value) else out


def _nested(path: list[str], value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


def _between(bounds: dict[str, float], name: str) -> Q:
    low = {} if bounds.keys() & {"gt", "gte"} else {"gt": BELOW_NUMBERS}
    high = {} if bounds.keys() & {"lt", "lte"} else {"lt": ABOVE_NUMBERS}
    return Q(**{f"{name}__{lookup}": end for lookup, end in (bounds | low | high).items()})


def _contains(column: Column, word: str) -> Q:
    """Return the condition that a value contains a word. Long texts are searched in the whole config."""
    stored = _stored_values(column).annotate(text=_text_at("value", []))
    cut = stored.annotate(length=Length("text")).filter(length=MAX_STORED_TEXT)
    whole_text = _text_at("run__config", column.path)
    return Q(Exists(stored.filter(IContains(F("text"), word)))) | Q(Exists(cut.filter(IContains(whole_text, word))))


def _text_at(name: str, path: list[str]) -> Func:
    keys = Value(path, output_field=ArrayField(TextField()))
    return Func(F(name), keys, template="(%(expressions)s)", arg_joiner=" #>> ", output_field=TextField())
