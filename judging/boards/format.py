"""Format the numbers of boards for pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from django.template.defaultfilters import floatformat
from django.utils.translation import gettext

from judging.translation.messages import in_words
from runs.tables import MINUS, NONE, PLAIN, THIN, Absent, Interval, NumberStyle

BoardData = Mapping[str, Any]
"""Part of a board, as plain values."""
BETWEEN = " · "
MAX_NAME_LENGTH, NAME_TAIL_LENGTH = 24, 11
"""Characters of a name next to a figure, and the number of them that are taken from its end."""
ALMOST_CERTAIN = 0.9995
"""A chance of at least this is not written as 100 %, and one of at most 1 - ALMOST_CERTAIN not as 0 %."""


def format_elo(value: float | None, *, signed: bool = False) -> str:
    """Return the points as a whole number, or NONE if there are none."""
    if value is None:
        return NONE
    return (f"{value:+.0f}" if signed else f"{value:.0f}").replace("-", MINUS)


def format_interval(bounds: BoardData | None, *, signed: bool = False) -> str:
    """Return the two ends of a range, or an empty text if there are none."""
    if bounds is None or bounds["low"] is None or bounds["high"] is None:
        return ""
    return f"{format_elo(bounds['low'], signed=signed)} … {format_elo(bounds['high'], signed=signed)}"


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Shorten each name to fit next to a figure: without the end that all names share, and without its middle."""
    ends = {name.rpartition(BETWEEN)[2] for name in names}
    cut = len(BETWEEN) + len(ends.pop()) if len(ends) == 1 and all(BETWEEN in name for name in names) else 0
    shortened = {name: name[: len(name) - cut] for name in names}
    return {
        name: text
        if len(text) <= MAX_NAME_LENGTH
        else f"{text[: MAX_NAME_LENGTH - NAME_TAIL_LENGTH - 1]}…{text[-NAME_TAIL_LENGTH:]}"
        for name, text in shortened.items()
    }


def format_percent(value: float | None, digits: int = 0) -> str:
    """Return a share of 1 in per cent, or NONE if it is None."""
    return NONE if value is None else f"{100 * value:.{digits}f}{THIN}%"


def format_chance(value: float | None) -> str:
    """Return a share of resamples in per cent. A result in all resamples, or in none, is not shown as certain."""
    if value is None:
        return NONE
    if value >= ALMOST_CERTAIN:
        return f">{THIN}99.9{THIN}%"
    return f"<{THIN}0.1{THIN}%" if value <= 1 - ALMOST_CERTAIN else format_percent(value, 1)


def bracketed(
    digits: int,
    unit: str = "",
    scale: float = 1.0,
    *,
    is_signed: bool = False,
    text: Callable[[float], str] = PLAIN.text,
) -> NumberStyle:
    """Return a style with fixed digits, whose pages have intervals such as [12.0, 25.3]. unit: to be translated."""

    def write(value: float) -> str:
        number = scale * value
        sign = "+" if is_signed and round(number, digits) > 0 else ""
        return f"{sign}{number:.{digits}f}".replace("-", MINUS)

    def with_unit(value: float) -> str:
        return f"{write(value)}{THIN}{gettext(unit)}" if unit else write(value)

    return NumberStyle(with_unit, text, lambda low, high: f"[{write(low)}, {write(high)}]")


def whole_percent(share: float) -> str:
    """Return a share of 1 as a whole number of per cent, a half rounded up."""
    return f"{floatformat(100 * share, 0)} %"


POINTS = NumberStyle(format_elo, "{:.0f}".format, rounds=True)
SIGNED_POINTS = NumberStyle(partial(format_elo, signed=True), "{:+.0f}".format, rounds=True)
CHANCES = NumberStyle(format_chance, "{:.3f}".format, as_text=True)
WIN_RATES = NumberStyle(
    format_percent, "{:.1%}".format, lambda low, high: f"{100 * low:.0f}–{format_percent(high)}", as_text=True
)
WIN_SHARES = NumberStyle(
    format_percent, "{:.1%}".format, lambda low, high: f"{max(100 * low, 0):.0f}–{100 * high:.0f}", as_text=True
)


SHARES = bracketed(1, "%", 100, text="{:.1%}".format)
WHOLE_SHARES = NumberStyle(whole_percent, "{:.0%}".format)
COEFFICIENTS = bracketed(2, text="{:.3f}".format)


def interval_of(bounds: BoardData | None) -> Interval | None:
    """Return a stored estimate as a cell of a table."""
    return None if bounds is None else Interval(bounds["value"], bounds["low"], bounds["high"])


def estimate_cell(estimate: BoardData) -> Interval | Absent:
    """Return a stored estimate as a cell of a table that says if there is no number."""
    if estimate["value"] is None:
        return Absent(gettext("n/a"), gettext("n/a"), in_words(estimate.get("why") or ""))
    return Interval(estimate["value"], estimate.get("low"), estimate.get("high"))
