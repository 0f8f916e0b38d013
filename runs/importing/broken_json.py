"""JSON that is whole, or as much of it as can be read: what stands before the break, closed where it was cut."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from workers.config.shallow_json import check_depth, is_too_deep

TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{},]', re.DOTALL)
"""A text, the last one up to the end where it is cut off (else it would be read again from each quote in it), or a
sign."""
LENIENT = json.JSONDecoder(strict=False)
EXTRA = "Extra data"
CLOSES = {"[": "]", "{": "}"}


@dataclass(frozen=True)
class Document:
    """The value, and where and why reading stopped: 0 and "" for a whole file. `goes_on`: the value is whole, and
    something follows, as in JSON lines."""

    value: Any
    line: int = 0
    why: str = ""
    goes_on: bool = False


def read(text: str) -> Document | None:
    """Parsed JSON; NaN, Infinity and control characters in texts let pass as Python writes and others leave them. None
    where not even its beginning is JSON."""
    try:
        return Document(_decoded(text))
    except json.JSONDecodeError as error:
        if error.msg == EXTRA:
            value, _ = LENIENT.raw_decode(text.lstrip())
            if is_too_deep(value):
                return None
            return Document(value, error.lineno, _words(text, error), goes_on=True)
        cut = _cut(text, error.pos)
        return None if cut is None else Document(cut, error.lineno, _words(text, error))
    except (ValueError, RecursionError):
        # A number of thousands of digits, or brackets within brackets without end.
        return None


def _decoded(text: str) -> Any:
    """Raise ValueError or RecursionError if the text is no JSON or nested too deep."""
    value = LENIENT.decode(text)
    check_depth(value)
    return value


def _words(text: str, error: json.JSONDecodeError) -> str:
    rest = text[error.pos :].strip()
    return f"the JSON ends here, cut off ({error.msg})" if not rest else f"{error.msg}: nothing after it was read"


def _cut(text: str, end: int) -> Any | None:
    """The value up to the last comma or bracket before `end`, with what is open closed; None where that is nothing."""
    open_at: list[str] = []
    best, closing = 0, ""
    for match in TOKEN.finditer(text, 0, end):
        sign = match[0]
        if sign in CLOSES:
            open_at.append(CLOSES[sign])
        elif sign in ("]", "}") and open_at:
            open_at.pop()
        elif sign != ",":
            continue
        best = match.start() if sign == "," else match.end()
        closing = "".join(reversed(open_at))
    if not closing:
        return None
    try:
        return _decoded(text[:best] + closing)
    except (ValueError, RecursionError):
        return None
