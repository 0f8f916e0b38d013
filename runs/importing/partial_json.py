"""Parse JSON that may be cut off: the part before the break is closed and returned."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from workers.config.shallow_json import check_depth, is_too_deep

TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{},]', re.DOTALL)
"""Match a string or a sign. A last string that is cut off extends to the end; otherwise it would be read again from
each quote in it."""
LENIENT = json.JSONDecoder(strict=False)
EXTRA = "Extra data"
CLOSING_BRACKETS = {"[": "]", "{": "}"}


@dataclass(frozen=True)
class Document:
    """A parsed value, and the line and the reason at which reading stopped: 0 and "" for a whole file. `has_more`: the
    value is whole, and something follows, as in JSON lines."""

    value: Any
    line: int = 0
    reason: str = ""
    has_more: bool = False


def parse(text: str) -> Document | None:
    """Return the parsed JSON, or None if not even its beginning is JSON.

    NaN, Infinity and control characters in texts are accepted, as Python and other programs write them.
    """
    try:
        return Document(_decode(text))
    except json.JSONDecodeError as error:
        if error.msg == EXTRA:
            value, _ = LENIENT.raw_decode(text.lstrip())
            if is_too_deep(value):
                return None
            return Document(value, error.lineno, _error_text(text, error), has_more=True)
        closed = _close_cut_json(text, error.pos)
        return None if closed is None else Document(closed, error.lineno, _error_text(text, error))
    except (ValueError, RecursionError):
        # A number of thousands of digits, or brackets within brackets without end.
        return None


def _decode(text: str) -> Any:
    """Raise ValueError or RecursionError if the text is no JSON or nested too deep."""
    value = LENIENT.decode(text)
    check_depth(value)
    return value


def _error_text(text: str, error: json.JSONDecodeError) -> str:
    rest = text[error.pos :].strip()
    return f"the JSON ends here, cut off ({error.msg})" if not rest else f"{error.msg}: nothing after it was read"


def _close_cut_json(text: str, end: int) -> Any | None:
    """Return the value up to the last comma or bracket before `end`, with open brackets closed; None if it is empty."""
    open_brackets: list[str] = []
    best = 0
    for match in TOKEN.finditer(text, 0, end):
        sign = match[0]
        if sign in CLOSING_BRACKETS:
            open_brackets.append(CLOSING_BRACKETS[sign])
        elif sign in ("]", "}") and open_brackets:
            open_brackets.pop()
        elif sign != ",":
            continue
        best = match.start() if sign == "," else match.end()
    if not open_brackets:
        return None
    try:
        return _decode(text[:best] + "".join(reversed(open_brackets)))
    except (ValueError, RecursionError):
        return None
