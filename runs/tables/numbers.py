"""Numbers as texts: three significant digits, a true minus sign and grouped thousands; and how a column writes them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

MINUS, THIN = "\N{MINUS SIGN}", "\N{NARROW NO-BREAK SPACE}"


def number(value: float | None, digits: int = 3) -> str:
    """Format a number with `digits` significant digits, a true minus sign and grouped thousands; – if it is None."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else MINUS + "∞"
    value = value or 0.0  # Without the sign of −0.0.
    size = abs(value)
    if size and (size < 1e-3 or size >= 1e9):
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa}e{int(exponent)}".replace("-", MINUS)
    decimals = 0 if size >= 10**digits or float(value).is_integer() else digits - 1 - _magnitude(size)
    return f"{value:,.{max(decimals, 0)}f}".replace(",", THIN).replace("-", MINUS)


def share(value: float | None) -> str:
    """Format a share in percent; – if it is None.

    The percentage is a whole number, but within 1 % of 0 or of 100 it has one significant digit of the difference, and
    at most three decimals: 0.4 %, 99.96 %.
    """
    if value is None or not math.isfinite(value):
        return number(value)
    percent = 100 * value
    rest = min(percent, 100 - percent)
    if not 0 < rest < 1:
        return f"{round(percent)}{THIN}%"
    decimals = 1 + (rest < 0.1) + (rest < 0.01)
    return f"{percent:.{decimals}f}".rstrip("0").rstrip(".") + f"{THIN}%"


def _magnitude(size: float) -> int:
    return math.floor(math.log10(size)) if size else 0


def count(value: float) -> str:
    """Format a number of observations, with halves if two observations count as one."""
    return f"{value:.1f}".removesuffix(".0")


@dataclass(frozen=True)
class NumberStyle:
    """The style in which a column writes its numbers.

    page, text: on pages and in a terminal. ends: the two ends of an interval on pages. rounds: whether LaTeX has whole
    numbers. as_text: whether LaTeX has the text of pages instead of a number.
    """

    page: Callable[[float], str] = number
    text: Callable[[float], str] = number
    ends: Callable[[float, float], str] | None = None
    rounds: bool = False
    as_text: bool = False

    def interval(self, low: float | None, high: float | None) -> str:
        """Return the two ends of an interval on pages; an empty text if one is not known."""
        if low is None or high is None:
            return ""
        return self.ends(low, high) if self.ends else f"{self.page(low)} … {self.page(high)}"


PLAIN = NumberStyle()
MEASUREMENTS = NumberStyle(page=lambda value: str(value) if isinstance(value, int) else number(value, digits=4))
COUNTS = NumberStyle(count, count)
SHARES = NumberStyle(page=share, text="{:.1%}".format)
