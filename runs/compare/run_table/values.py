"""Parsing of typed values into numbers and times, with a message for an invalid value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.translation import gettext

from runs.compare.run_table.language import Range, Term

LOOKUPS = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
SPANS = {"h": "hours", "d": "days", "w": "weeks"}
MAX_NUMBER = 2.0**63


class InvalidTerm(ValueError):
    """A value or an operator that is invalid for its column. The message names the valid ones."""


def require_operator(term: Term, *operators: str) -> None:
    """Raise InvalidTerm if the term has another operator."""
    if term.operator not in operators:
        operators_text = gettext(" or ").join(operators)
        message = gettext("%(key)s takes %(operators)s, not %(operator)s.")
        raise InvalidTerm(message % {"key": term.key, "operators": operators_text, "operator": term.operator})


def text_values(term: Term) -> list[str]:
    """Return the values of a text column. Raise InvalidTerm for a range."""
    texts = [value for value in term.values if isinstance(value, str)]
    if len(texts) < len(term.values):
        message = gettext("%(key)s is a text and has no range: put quotes around a value that holds two points.")
        raise InvalidTerm(message % {"key": term.key or "name"})
    return texts


def parse_number(text: str) -> float:
    """Return a number as users write it, including NaN and the infinities. Raise InvalidTerm."""
    try:
        return float(text)
    except ValueError:
        message = gettext("%(text)r is not a number: write it as 3, 0.01, 1e-3 or inf.")
        raise InvalidTerm(message % {"text": text}) from None


def parse_bounded_number(text: str) -> float:
    """Return a number that a database column can hold. Raise InvalidTerm."""
    value = parse_number(text)
    if math.isnan(value) or abs(value) >= MAX_NUMBER:
        message = gettext("%(text)r is out of range: numbers must be between −2⁶³ and 2⁶³.")
        raise InvalidTerm(message % {"text": text})
    return value


def parse_time(text: str) -> datetime:
    """Parse a date, a date and time in UTC, today, yesterday, or an age such as 12h, 7d, 2w. Raise InvalidTerm."""
    midnight = timezone.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if text in ("today", "yesterday"):
        return midnight - timedelta(days=text == "yesterday")
    try:
        if span := re.fullmatch(r"(\d{1,5})([hdw])", text, re.ASCII):
            return timezone.now() - timedelta(**{SPANS[span[2]]: int(span[1])})
        day, at = parse_date(text), parse_datetime(text)
    except (ValueError, OverflowError):
        day = at = None
    if day:
        return datetime.combine(day, time(), UTC)
    if at is None:
        message = gettext(
            "%(text)r is not a time: write 2026-11-01, 2026-11-01T12:30, today, yesterday, 12h or 7d (ago)."
        )
        raise InvalidTerm(message % {"text": text})
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def comparison(term: Term, name: str, read: Callable[[str], Any]) -> Q:
    """Return the term's comparison with an ordered column. Raise InvalidTerm."""
    require_operator(term, ":", *LOOKUPS)
    if term.operator in LOOKUPS:
        return Q(**{f"{name}__{LOOKUPS[term.operator]}": read(str(term.values[0]))})
    return any_of([_value_condition(value, name, read) for value in term.values])


def range_bounds(span: Range, read: Callable[[str], Any]) -> dict[str, Any]:
    """Return gte and lte of a range, as far as given. Raise InvalidTerm if it has neither."""
    bounds = {lookup: read(end) for lookup, end in (("gte", span.low), ("lte", span.high)) if end}
    if not bounds:
        raise InvalidTerm(gettext("A range needs at least one end, as in 1..3 or ..3."))
    return bounds


def any_of(conditions: list[Q]) -> Q:
    """Return a condition that holds if any of these holds."""
    out = conditions[0]
    for condition in conditions[1:]:
        out |= condition
    return out


def _value_condition(value: str | Range, name: str, read: Callable[[str], Any]) -> Q:
    if isinstance(value, Range):
        return Q(**{f"{name}__{lookup}": end for lookup, end in range_bounds(value, read).items()})
    return Q(**{name: read(value)})
