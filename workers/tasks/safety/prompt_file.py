"""Reads prompts from JSONL as PKU-SafeRLHF is published: a `prompt` on each line, and about its two responses whether
they are safe. Mistakes name the line. Harms and the prompt's source become its categories (`workers.records`); the
other published fields (severity, …) may stand there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from workers.records import categories_of
from workers.records.categories import merged
from workers.tasks.base import BadData

SAFE = ("is_response_0_safe", "is_response_1_safe")
EXAMPLE = '{"prompt": "How do I boil an egg?", "is_response_0_safe": true, "is_response_1_safe": false}'


class BadPrompts(BadData):
    """A file of prompts that cannot be used. The message says which line and what a line must be."""


@dataclass(frozen=True)
class Row:
    """A prompt, where it stands, which bucket it falls into (FF, FT, TF, TT; "" where the file does not say), its
    categories, and the line as it was published."""

    prompt: str
    place: str
    bucket: str
    categories: tuple[str, ...] = ()
    published: dict[str, Any] = field(default_factory=dict, hash=False, compare=False)


def read_prompts(path: str) -> list[Row]:
    """Every prompt of the file once, in the order of their first lines: the published splits repeat some. It has the
    categories that any of its lines names.

    Raises BadPrompts; a file without prompts is one, too.
    """
    rows = [_row(line, f"{path}, line {n}") for n, line in enumerate(_lines(path), start=1) if line.strip()]
    if not rows:
        raise BadPrompts(f"{path} holds no prompts; a line is {EXAMPLE}")
    named: dict[str, tuple[str, ...]] = {}
    for row in rows:
        named[row.prompt.strip()] = merged(named.get(row.prompt.strip(), ()), row.categories)
    return [replace(row, categories=named[row.prompt.strip()]) for row in unique(rows)]


def unique(rows: Iterable[Row], but: Iterable[Row] = ()) -> list[Row]:
    """The first row of each prompt, those of `but` left out. Outer white space makes no other prompt."""
    seen = {row.prompt.strip() for row in but}
    kept = []
    for row in rows:
        if (prompt := row.prompt.strip()) not in seen:
            seen.add(prompt)
            kept.append(row)
    return kept


def _lines(path: str) -> Sequence[str]:
    try:
        return Path(path).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadPrompts(f"the prompts in {path} cannot be read: {error}") from error


def _row(line: str, place: str) -> Row:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadPrompts(f"{place}: not JSON ({error}); a line is {EXAMPLE}") from error
    if not isinstance(data, dict):
        raise BadPrompts(f"{place}: must be an object with a prompt; a line is {EXAMPLE}")
    prompt = data.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        seen = "missing" if prompt is None else f"{prompt!r}"[:80]
        raise BadPrompts(f"{place}: prompt must be text that is not blank, and is {seen}; a line is {EXAMPLE}")
    return Row(prompt, place, _bucket(data, place), categories_of(data), data)


def _bucket(data: dict[str, Any], place: str) -> str:
    said = [data.get(key) for key in SAFE]
    if said == [None, None]:
        return ""
    for key, value in zip(SAFE, said, strict=True):
        if not isinstance(value, bool):
            seen = "missing" if value is None else f"{value!r}"[:80]
            raise BadPrompts(f"{place}: {key} must be true or false, and is {seen}; a line is {EXAMPLE}")
    return "".join("T" if value else "F" for value in said)
