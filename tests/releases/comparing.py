"""Answers of two sites, compared value by value."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

NOT_COMPARED = "(not compared)"
"""It stands in a list for a value that depends on the clock or the machine."""


def differing(before: Any, now: Any, place: str = "") -> Iterator[str]:
    """Yield the place of each value of `before` that `now` lacks or has otherwise. What is new in `now` is no matter.

    A place is the keys and indices that lead there, each after a bar.
    """
    if isinstance(before, dict) and isinstance(now, dict):
        for key, value in before.items():
            yield from differing(value, now[key], f"{place}|{key}") if key in now else (f"{place}|{key}",)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for number, (value, other) in enumerate(zip(before, now, strict=True)):
            yield from differing(value, other, f"{place}|{number}")
    elif before not in (now, NOT_COMPARED):
        yield place


def without(value: Any, places: Collection[str], place: str = "") -> Any:
    """Return the value without what lies at these places; in a list its place is kept, empty."""
    if isinstance(value, dict):
        kept = {key: without(item, places, f"{place}|{key}") for key, item in value.items()}
        return {key: item for key, item in kept.items() if f"{place}|{key}" not in places}
    if isinstance(value, list):
        return [
            NOT_COMPARED if f"{place}|{n}" in places else without(item, places, f"{place}|{n}")
            for n, item in enumerate(value)
        ]
    return value


def count(value: Any) -> int:
    """Return how many values there are, in all lists and objects."""
    if isinstance(value, dict | list):
        return sum(count(item) for item in (value.values() if isinstance(value, dict) else value))
    return 1
