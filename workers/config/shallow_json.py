"""Read JSON from users. Code that walks a value by recursion (copying, comparing, writing it) fails at some depth, so
every reader of such JSON uses this module and refuses values nested deeper than MAX_DEPTH."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

MAX_DEPTH = 50
"""Lists and objects in each other. Configs and records use fewer than ten."""
NESTED = (dict, list, tuple)


class TooDeep(ValueError):
    """JSON that is nested too deep. The message names the limit."""

    def __init__(self) -> None:
        super().__init__(f"lists and objects may be nested at most {MAX_DEPTH} deep")


def loads(text: str | bytes) -> Any:
    """Return the value of the JSON text. Raise ValueError for other text, TooDeep if it is nested deeper than
    MAX_DEPTH."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise TooDeep from None
    # Text with few brackets cannot be nested deep, and counting them costs nothing compared with walking the value.
    brackets = (b"[", b"{") if isinstance(text, bytes) else ("[", "{")
    if sum(map(text.count, brackets)) > MAX_DEPTH:  # type: ignore[arg-type]
        check_depth(value)
    return value


def check_depth(value: Any) -> None:
    """Raise TooDeep if lists and objects in this value are nested deeper than MAX_DEPTH."""
    if is_too_deep(value):
        raise TooDeep


def is_too_deep(value: Any) -> bool:
    """Return whether lists and objects in this value are nested deeper than MAX_DEPTH. Walk it without recursion."""
    level: list[Any] = [value] if isinstance(value, NESTED) else []
    for _ in range(MAX_DEPTH):
        if not level:
            return False
        level = [inner for outer in level for inner in _within(outer) if isinstance(inner, NESTED)]
    return bool(level)


def _within(value: Any) -> Iterable[Any]:
    """Return the elements of a list or the values of an object."""
    return value.values() if isinstance(value, dict) else value
