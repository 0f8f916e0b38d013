"""Compare responses of two sites value by value."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

NOT_COMPARED = "(not compared)"
"""Placeholder in a list for a value that depends on the clock or the machine."""


def find_differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Yield the path of each value of `old` that `new` lacks or has changed. Values that only `new` has are ignored.

    A path is the keys and indices that lead to a value, each after a bar.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            yield from find_differences(value, new[key], f"{path}|{key}") if key in new else (f"{path}|{key}",)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (value, other) in enumerate(zip(old, new, strict=True)):
            yield from find_differences(value, other, f"{path}|{number}")
    elif old not in (new, NOT_COMPARED):
        yield path


def remove_paths(value: Any, paths: Collection[str], path: str = "") -> Any:
    """Return the value without the entries at these paths; in a list they are replaced by NOT_COMPARED."""
    if isinstance(value, dict):
        entries = {key: remove_paths(item, paths, f"{path}|{key}") for key, item in value.items()}
        return {key: item for key, item in entries.items() if f"{path}|{key}" not in paths}
    if isinstance(value, list):
        return [
            NOT_COMPARED if f"{path}|{n}" in paths else remove_paths(item, paths, f"{path}|{n}")
            for n, item in enumerate(value)
        ]
    return value


def count_values(value: Any) -> int:
    """Return the number of values in all lists and objects."""
    if isinstance(value, dict | list):
        return sum(count_values(item) for item in (value.values() if isinstance(value, dict) else value))
    return 1
