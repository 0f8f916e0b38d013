"""Numbers as programs print them: plain, nan, with thousands, in quotes, or wrapped as np.float64(…) and tensor(…)."""

from __future__ import annotations

import re
from typing import Any

BARE = r"[-+]?(?:(?:[1-9]\d{0,2}(?:,\d{3}){1,8}|\d+)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf(?:inity)?)"
"""A number. Commas group thousands; 0,693 has a decimal comma, and is none."""
# Repetitions that could share characters with the next part are possessive (`*+`) or few: a mismatch takes linear time.
WRAPPED = re.compile(
    r"(?<![\w.])(?:[A-Za-z_][\w.]{0,40}+\(){1,3}\s*+(?:\[\s*+)?(?P<bare>"
    + BARE
    + r")\s*+(?:\]\s*+)?(?:,(?!\d)[^()]*+)?\)+",
    re.IGNORECASE,
)
PLAIN = re.compile(BARE, re.IGNORECASE)


def parse_number(text: str) -> float | None:
    """Parse a number. Return None if the text is not a number."""
    if not PLAIN.fullmatch(text):
        text = unwrap_numbers(text).strip().strip("'\"")
        if not PLAIN.fullmatch(text):
            return None
    return float(text.replace(",", ""))


def json_number(value: Any) -> float | None:
    """Convert a number of a JSON document to a float; None if it is not a number or beyond the range of floats."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def unwrap_numbers(text: str) -> str:
    """Return the text with plain numbers in place of wrapped ones: `tensor(1.5, device='cuda')` becomes 1.5."""
    return WRAPPED.sub(lambda match: match["bare"], text) if "(" in text else text


def count_decimals(text: str) -> int:
    """Return the number of digits after the point: a line that was cut off has fewer than the lines before it."""
    return len(text.partition(".")[2])
