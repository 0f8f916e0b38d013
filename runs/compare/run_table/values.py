"""What is typed as a value -> numbers and moments, and a sentence where it is neither."""

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
BIGGEST = 2.0**63


class Unfit(ValueError):
    """A value or an operator that does not fit its column. The message names what would."""


def only(term: Term, *operators: str) -> None:
    """Raises Unfit where the term has another operator."""
    if term.operator not in operators:
        taken = gettext(" or ").join(operators)
        said = gettext("%(key)s takes %(operators)s, not %(operator)s.")
        raise Unfit(said % {"key": term.key, "operators": taken, "operator": term.operator})


def words(term: Term) -> list[str]:
    """The values of a column of texts. Raises Unfit for a range."""
    found = [value for value in term.values if isinstance(value, str)]
    if len(found) < len(term.values):
        said = gettext("%(key)s is a text and has no range: put quotes around a value that holds two points.")
        raise Unfit(said % {"key": term.key or "name"})
    return found


def number(text: str) -> float:
    """A number as people write it, NaN and the infinities too. Raises Unfit."""
    try:
        return float(text)
    except ValueError:
        said = gettext("%(text)r is not a number: write it as 3, 0.01, 1e-3 or inf.")
        raise Unfit(said % {"text": text}) from None


def whole(text: str) -> float:
    """A number that a column of the database can hold. Raises Unfit."""
    value = number(text)
    if math.isnan(value) or abs(value) >= BIGGEST:
        said = gettext("%(text)r is out of range: numbers here lie between −2⁶³ and 2⁶³.")
        raise Unfit(said % {"text": text})
    return value


def moment(text: str) -> datetime:
    """A date, a date and time in UTC, today, yesterday, or how long ago: 12h, 7d, 2w. Raises Unfit."""
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
        said = gettext(
            "%(text)r is not a moment: write 2026-11-01, 2026-11-01T12:30, today, yesterday, 12h or 7d (ago)."
        )
        raise Unfit(said % {"text": text})
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def compared(term: Term, name: str, read: Callable[[str], Any]) -> Q:
    """The term's comparison with a column that has an order. Raises Unfit."""
    only(term, ":", *LOOKUPS)
    if term.operator in LOOKUPS:
        return Q(**{f"{name}__{LOOKUPS[term.operator]}": read(str(term.values[0]))})
    return any_of([_among(value, name, read) for value in term.values])


def ends(span: Range, read: Callable[[str], Any]) -> dict[str, Any]:
    """gte and lte of a range, where it has them. Raises Unfit where it has neither."""
    found = {lookup: read(end) for lookup, end in (("gte", span.low), ("lte", span.high)) if end}
    if not found:
        raise Unfit(gettext("A range needs at least one end, as in 1..3 or ..3."))
    return found


def any_of(conditions: list[Q]) -> Q:
    """Holds where one of them does."""
    out = conditions[0]
    for condition in conditions[1:]:
        out |= condition
    return out


def _among(value: str | Range, name: str, read: Callable[[str], Any]) -> Q:
    if isinstance(value, Range):
        return Q(**{f"{name}__{lookup}": end for lookup, end in ends(value, read).items()})
    return Q(**{name: read(value)})
