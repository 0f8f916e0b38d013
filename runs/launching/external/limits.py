"""Limits of what an external run stores of its program: what fits is stored, and what does not is named in an event.

A report is never refused as a whole for its size: the end of a training would be lost with a summary that is too large.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from runs.launching.request import merged
from runs.models import Attempt
from workers.config import Problem

MAX_CONFIG_BYTES = 1_000_000
MAX_DETAIL_BYTES = 100_000
MAX_TAGS = 50
MAX_LEAVES = 20_000
"""Entries of an object that are considered one by one. An object with more is stored as far as these fit."""
MAX_NAMES = 10
MAX_NAME_LENGTH = 80


class Leaf(NamedTuple):
    """A value of a nested object by the keys that lead to it, and the bytes of its JSON."""

    keys: tuple[str, ...]
    value: Any
    size: int


def json_bytes(value: Any) -> int:
    """Return the size of a value as JSON."""
    return len(json.dumps(value, ensure_ascii=False).encode())


def merge_within(
    name: str, former: dict[str, Any], new: Mapping[str, Any], max_bytes: int
) -> tuple[dict[str, Any], list[Problem]]:
    """Return `former` with the values of `new` over it that fit, the smallest first, and a problem if some do not."""
    whole = merged(former, new)
    if json_bytes(whole) <= max_bytes:
        return whole, []
    considered = list(islice(_new_leaves(former, new, ()), MAX_LEAVES))
    used, parents = json_bytes(former), set[tuple[str, ...]]()
    fitting: set[tuple[str, ...]] = set()
    for leaf in sorted(considered, key=lambda leaf: leaf.size):
        used += leaf.size + _overhead(leaf.keys, parents)
        if used > max_bytes:
            break
        fitting.add(leaf.keys)
    stored = merged(former, _build(leaf for leaf in considered if leaf.keys in fitting))
    omitted = [leaf for leaf in considered if leaf.keys not in fitting]
    return stored, [_problem(name, omitted, max_bytes, is_cut=len(considered) == MAX_LEAVES)]


def join_tags(former: Sequence[str], new: Sequence[str]) -> tuple[list[str], list[Problem]]:
    """Return the tags of a run with as many new ones as it may have, and a problem if it may not have all."""
    tags = list(dict.fromkeys([*former, *new]))
    if len(tags) <= MAX_TAGS:
        return tags, []
    names = ", ".join(tags[MAX_TAGS : MAX_TAGS + MAX_NAMES])
    rest = f" and {len(tags) - MAX_TAGS - MAX_NAMES} more" if len(tags) > MAX_TAGS + MAX_NAMES else ""
    return tags[:MAX_TAGS], [Problem("tags", f"a run has at most {MAX_TAGS} tags. Not stored: {names}{rest}")]


def note_problems(attempt: Attempt, problems: Sequence[Problem]) -> None:
    """Store a warning for each problem, unless the attempt has the same one: reports are repeated."""
    for reason in map(str, problems):
        if not attempt.events.filter(why=reason).exists():
            attempt.note(reason, "warning")


def _new_leaves(former: Any, new: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[Leaf]:
    """Yield the values of `new` that `former` does not have."""
    known = former if isinstance(former, Mapping) else {}
    for key, value in new.items():
        if key in known and known[key] == value:
            continue
        if isinstance(value, Mapping) and value:
            yield from _new_leaves(known.get(key), value, (*keys, key))
        else:
            yield Leaf((*keys, key), value, json_bytes(value))


def _overhead(keys: tuple[str, ...], parents: set[tuple[str, ...]]) -> int:
    """Return the bytes of an entry's keys and separators, with those of its parents that no entry before it had."""
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


def _problem(name: str, omitted: Sequence[Leaf], max_bytes: int, *, is_cut: bool) -> Problem:
    largest = sorted(omitted, key=lambda leaf: -leaf.size)[:MAX_NAMES]
    names = [f"{'.'.join(leaf.keys)[:MAX_NAME_LENGTH]} ({leaf.size / 1000:.1f} kB)" for leaf in largest]
    if len(omitted) > len(largest):
        names.append(f"{len(omitted) - len(largest)} more")
    if is_cut:
        names.append(f"what comes after its first {MAX_LEAVES} entries")
    return Problem(name, f"it has at most {max_bytes // 1000} kB of JSON. Not stored: {', '.join(names)}")
