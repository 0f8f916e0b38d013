"""What a query asks of a key of the config: JSON, where a word may be a text, a number or a truth."""

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
from runs.compare.run_table.values import LOOKUPS, Unfit, any_of, ends, number, only, whole, words
from runs.models import Knob

TRUTHS = {"true": True, "false": False}
CUT = 200
"""So many characters of a long text are kept as a knob."""
BELOW_NUMBERS, ABOVE_NUMBERS = -1e300, False
"""JSON values of every kind have one order: texts, numbers, truths. Numbers that are kept have at most 200 digits."""


def in_config(column: Column, term: Term) -> Q:
    """The condition of a term on a config's key. Raises Unfit."""
    only(term, ":", "~", *LOOKUPS)
    if term.operator == "~":
        return any_of([_holding(column, word) for word in words(term)])
    if term.operator in LOOKUPS:
        return Q(Exists(_kept(column).filter(numbers_of(term, "value"))))
    return any_of([_is(column, value) for value in term.values])


def numbers_of(term: Term, name: str) -> Q:
    """The term's comparison with a JSON value of this name: true of no text. Raises Unfit."""
    if term.operator in LOOKUPS:
        return _between({LOOKUPS[term.operator]: whole(str(term.values[0]))}, name)
    return any_of(
        [
            _between(ends(value, whole), name) if isinstance(value, Range) else _one_of(value, name)
            for value in term.values
        ]
    )


def _kept(column: Column) -> QuerySet[Knob]:
    return Knob.objects.filter(run=OuterRef("pk"), key=column.key)


def _is(column: Column, value: str | Range) -> Q:
    if isinstance(value, Range):
        return Q(Exists(_kept(column).filter(_between(ends(value, whole), "value"))))
    if value in ("none", "any"):
        return Q(Exists(_kept(column))) if value == "any" else ~Q(Exists(_kept(column)))
    if len(json.dumps(value)) <= CUT:
        return Q(Exists(_kept(column).filter(_one_of(value, "value"))))
    # The index on the config answers this one.
    return Q(config__contains=_nested(column.path, value))


def _one_of(word: str, name: str) -> Q:
    return Q(**{f"{name}__in": _meanings(word)})


def _meanings(word: str) -> list[Any]:
    """What a word may be in JSON."""
    out: list[Any] = [word]
    if word in TRUTHS:
        out.append(TRUTHS[word])
    if re.fullmatch(r"-?\d{1,18}", word, re.ASCII):
        return [*out, int(word)]
    try:
        value = number(word)
    except Unfit:
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


def _holding(column: Column, word: str) -> Q:
    """Long texts are searched where they are whole."""
    kept = _kept(column).annotate(text=_text_at("value", []))
    cut = kept.annotate(length=Length("text")).filter(length=CUT)
    whole_text = _text_at("run__config", column.path)
    return Q(Exists(kept.filter(IContains(F("text"), word)))) | Q(Exists(cut.filter(IContains(whole_text, word))))


def _text_at(name: str, path: list[str]) -> Func:
    keys = Value(path, output_field=ArrayField(TextField()))
    return Func(F(name), keys, template="(%(expressions)s)", arg_joiner=" #>> ", output_field=TextField())
