"""Limits of a run's config and summary: what fits is sent, and what does not is named."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

LIMITS = {"config": 1_000_000, "summary": 100_000}
"""Bytes of JSON that the server stores of each."""
MAX_NAMES = 10
MAX_NAME_LENGTH = 80


class Leaf(NamedTuple):
    """A value of a nested object by the keys that lead to it, and the bytes of its JSON."""

    keys: tuple[str, ...]
    value: Any
    size: int

    def describe(self) -> str:
        """Return the entry's dotted name and its size."""
        return f"{'.'.join(self.keys)[:MAX_NAME_LENGTH]} ({self.size / 1000:.1f} kB)"


def json_bytes(value: Any) -> int:
    """Return how many bytes of JSON the server counts for a value."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def fit(new: Mapping[str, Any], max_bytes: int) -> tuple[dict[str, Any], list[Leaf]]:
    """Return the entries of an object that fit into so many bytes of JSON, the smallest first, and those left out."""
    if json_bytes(new) <= max_bytes:
        return dict(new), []
    parents: set[tuple[str, ...]] = set()
    fitting: list[Leaf] = []
    used = 2
    leaves = list(_leaves(new, ()))
    for leaf in sorted(leaves, key=lambda leaf: leaf.size):
        used += leaf.size + _overhead(leaf.keys, parents)
        if used > max_bytes:
            break
        fitting.append(leaf)
    names = {leaf.keys for leaf in fitting}
    # In the order of the object, which the smallest of its entries would change.
    return _build(leaf for leaf in leaves if leaf.keys in names), [leaf for leaf in leaves if leaf.keys not in names]


def describe_omitted(name: str, leaves: Sequence[Leaf]) -> str:
    """Return a sentence that names the entries that do not fit."""
    largest = sorted(leaves, key=lambda leaf: -leaf.size)[:MAX_NAMES]
    more = f" and {len(leaves) - len(largest)} more" if len(leaves) > len(largest) else ""
    limit = f"{LIMITS[name] // 1000} kB" if LIMITS[name] < 1_000_000 else f"{LIMITS[name] // 1_000_000} MB"
    names = ", ".join(leaf.describe() for leaf in largest)
    return f"A run's {name} has at most {limit} of JSON. Not sent: {names}{more}. The rest of the {name} is sent."


def _leaves(value: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[Leaf]:
    for key, inner in value.items():
        if isinstance(inner, Mapping) and inner:
            yield from _leaves(inner, (*keys, key))
        else:
            yield Leaf((*keys, key), inner, json_bytes(inner))


def _overhead(keys: tuple[str, ...], parents: set[tuple[str, ...]]) -> int:
    """Return the bytes of the keys and separators of an entry, with those of its parents that are new."""
    size = json_bytes(keys[-1]) + 4
    for depth in range(1, len(keys)):
        if keys[:depth] not in parents:
            parents.add(keys[:depth])
            size += json_bytes(keys[depth - 1]) + 6
    return size


def _build(leaves: Iterator[Leaf]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    for leaf in leaves:
        inner = whole
        for key in leaf.keys[:-1]:
            inner = inner.setdefault(key, {})
        inner[leaf.keys[-1]] = leaf.value
    return whole
