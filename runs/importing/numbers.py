"""Numbers as programs print them: plain, nan, with thousands, in quotes, or wrapped as np.float64(…) and tensor(…)."""

from __future__ import annotations

import re
from typing import Any

BARE = r"[-+]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf(?:inity)?)"
# Repetitions that could share characters with the next part are possessive (`*+`): what fails, fails in linear time.
WRAPPED = re.compile(
    r"(?<![\w.])(?:[A-Za-z_][\w.]{0,40}+\(){1,3}\s*+(?:\[\s*+)?(?P<bare>" + BARE + r")\s*+(?:\]\s*+)?(?:,[^()]*+)?\)+",
    re.IGNORECASE,
)
PLAIN = re.compile(BARE, re.IGNORECASE)


def number(text: str) -> float | None:
    """The number that a text is; None where it is none."""
    text = unwrapped(text).strip().strip("'\"")
    if not PLAIN.fullmatch(text):
        return None
    return float(text.replace(",", ""))


def real(value: Any) -> float | None:
    """The number that stands in a JSON document; None where it is none, or has more digits than a float takes."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def unwrapped(text: str) -> str:
    """The text with its numbers freed of what a library wraps around them: `tensor(1.5, device='cuda')` is 1.5."""
    return WRAPPED.sub(lambda match: match["bare"], text) if "(" in text else text


def decimals(text: str) -> int:
    """Return the number of digits after the point: a line that was cut off has fewer than the lines before it."""
    return len(text.partition(".")[2])
