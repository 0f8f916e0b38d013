"""What a query asks of a key of the config: JSON, where a word may be a text, a number or a truth."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import BooleanField, F, Func, JSONField, Q, TextField, Value
from django.db.models.functions import Coalesce
from django.db.models.lookups import IContains

from runs.tables.columns import Column
from runs.tables.language import Range, Term
from runs.tables.values import LOOKUPS, Unfit, any_of, ends, number, only, whole, words

TRUTHS = {"true": True, "false": False}
SIGNS = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}


def in_config(column: Column, term: Term) -> Q:
    """The condition of a term on a config's key. Raises Unfit."""
    only(term, ":", "~", *LOOKUPS)
    if term.operator == "~":
        text = Coalesce(_text_at(column.path), Value("", output_field=TextField()))
        return any_of([Q(IContains(text, word)) for word in words(term)])
    if term.operator in LOOKUPS:
        return _numbers(column.path, {LOOKUPS[term.operator]: whole(str(term.values[0]))})
    return any_of([_is(column.path, value) for value in term.values])


def _is(path: list[str], value: str | Range) -> Q:
    if isinstance(value, Range):
        return _numbers(path, ends(value, whole))
    if value in ("none", "any"):
        has = _exists(path, "@ != null", {})
        return has if value == "any" else ~has
    # The index on the config answers this one.
    return any_of([Q(config__contains=_nested(path, meant)) for meant in _meanings(value)])


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


def _numbers(path: list[str], bounds: dict[str, float]) -> Q:
    return _exists(path, " && ".join(f"@ {SIGNS[lookup]} ${lookup}" for lookup in bounds), bounds)


def _exists(path: list[str], condition: str, values: dict[str, float]) -> Q:
    """Asked in PostgreSQL's path language, which never takes a text for a number. The names are quoted in it."""
    where = "".join(f".{json.dumps(name)}" for name in path)
    asked = Func(Value(f"${where} ? ({condition})"), template="%(expressions)s::jsonpath", output_field=TextField())
    given = Value(values, output_field=JSONField())
    call = Func(F("config"), asked, given, Value(True), function="jsonb_path_exists", output_field=BooleanField())
    return Q(call)


def _text_at(path: list[str]) -> Func:
    keys = Value(path, output_field=ArrayField(TextField()))
    return Func(F("config"), keys, template="(%(expressions)s)", arg_joiner=" #>> ", output_field=TextField())
