"""Read prompts from JSONL as PKU-SafeRLHF is published: a `prompt` on each line, and whether each of its two responses
is safe. Mistakes name the line. Harms and the prompt's source become its categories (`workers.records`); the other
published fields (severity, …) are allowed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from workers.records import categories_of
from workers.records.categories import merge_names
from workers.tasks.base import BadData

SAFE_KEYS = ("is_response_0_safe", "is_response_1_safe")
EXAMPLE = '{"prompt": "How do I boil an egg?", "is_response_0_safe": true, "is_response_1_safe": false}'


class BadPrompts(BadData):
    """A file of prompts that cannot be used. The message names the line and the expected form."""


@dataclass(frozen=True)
class Row:
    """A prompt, its location, its bucket (FF, FT, TF, TT; "" if the file does not say), its categories, and the line as
    it was published."""

    prompt: str
    location: str
    bucket: str
    categories: tuple[str, ...] = ()
    published: dict[str, Any] = field(default_factory=dict, hash=False, compare=False)


def read_prompts(path: str) -> list[Row]:
    """Return every prompt of the file once, in the order of their first lines: the published splits repeat some. A
    prompt has the categories that any of its lines names.

    Raise BadPrompts, also for a file without prompts.
    """
    rows = [_row(line, f"{path}, line {n}") for n, line in enumerate(_lines(path), start=1) if line.strip()]
    if not rows:
        raise BadPrompts(f"{path} contains no prompts; a line is {EXAMPLE}")
    categories: dict[str, tuple[str, ...]] = {}
    for row in rows:
        categories[row.prompt.strip()] = merge_names(categories.get(row.prompt.strip(), ()), row.categories)
    return [replace(row, categories=categories[row.prompt.strip()]) for row in unique(rows)]


def unique(rows: Iterable[Row], excluded: Iterable[Row] = ()) -> list[Row]:
    """Return the first row of each prompt, without those of `excluded`. Outer white space does not distinguish
    prompts."""
    seen = {row.prompt.strip() for row in excluded}
    distinct = []
    for row in rows:
        if (prompt := row.prompt.strip()) not in seen:
            seen.add(prompt)
            distinct.append(row)
    return distinct


def _lines(path: str) -> Sequence[str]:
    try:
        return Path(path).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadPrompts(f"the prompts in {path} cannot be read: {error}") from error


def _row(line: str, location: str) -> Row:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadPrompts(f"{location}: not JSON ({error}); a line is {EXAMPLE}") from error
    if not isinstance(data, dict):
        raise BadPrompts(f"{location}: must be an object with a prompt; a line is {EXAMPLE}")
    prompt = data.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        quoted = "missing" if prompt is None else f"{prompt!r}"[:80]
        raise BadPrompts(f"{location}: prompt must be text that is not blank, but is {quoted}; a line is {EXAMPLE}")
    return Row(prompt, location, _bucket(data, location), categories_of(data), data)


def _bucket(data: dict[str, Any], location: str) -> str:
    flags = [data.get(key) for key in SAFE_KEYS]
    if flags == [None, None]:
        return ""
    for key, value in zip(SAFE_KEYS, flags, strict=True):
        if not isinstance(value, bool):
            quoted = "missing" if value is None else f"{value!r}"[:80]
            raise BadPrompts(f"{location}: {key} must be true or false, but is {quoted}; a line is {EXAMPLE}")
    return "".join("T" if value else "F" for value in flags)
