"""Read the JSON lines of a published evaluation file. Its objects have a known form, and may have further fields.

A question that a file repeats is read once, with the categories of all its lines, because published files repeat some.
With another answer it is a mistake. Mistakes name the file, the line and the known forms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from workers.config import ConfigError, Problem
from workers.config.shallow_json import loads
from workers.records import categories_of
from workers.records.categories import is_name, merge_names
from workers.tasks.base import BadData, Example, Split
from workers.tasks.question_file import Question

MAX_TEXT = 100_000
"""Characters of a question, an option or an answer."""
TOPICS = ("subject", "type", "activity_label")
"""Further keys of published files with a topic, next to those of `workers.records`."""

Item = TypeVar("Item", bound=Question)


class BadRow(ValueError):
    """A row of another form. The message names the field; the reader adds file, line and forms."""


def read_published(path: str, forms: Sequence[str], read_row: Callable[[Mapping[str, Any]], Item]) -> list[Item]:
    """Return the file's questions in the order of their first lines, without blank lines.

    `read_row` turns an object into a question or raises BadRow; `forms` are the lines that it accepts, for messages.
    Raise BadData, also for a file without questions.
    """
    known = f"a line is {' or '.join(forms)}"
    questions: dict[str, tuple[int, Item]] = {}
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            item = read_row(_object(line))
            first, earlier = questions.get(item.question, (number, item))
            if earlier.answer != item.answer:
                raise BadRow(f"repeats the question of line {first} with another answer; correct one of them")
        except BadRow as error:
            raise BadData(f"{path}, line {number}: {error}; {known}") from error
        categories = merge_names(earlier.categories, item.categories)
        questions[item.question] = first, replace(earlier, categories=categories)
    if not questions:
        raise BadData(f"{path} contains no questions; {known}")
    return [item for _, item in questions.values()]


def text_of(row: Mapping[str, Any], key: str) -> str:
    """Return the text of a field that is not blank; a number is written out. Raise BadRow."""
    return as_text(row.get(key), key)


def as_text(value: Any, name: str) -> str:
    """Return the value as a text that is not blank; a number is written out. Raise BadRow with this name."""
    text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not text.strip():
        quoted = "missing" if value is None else repr(value)[:80]
        raise BadRow(f"{name} must be text that is not blank, but is {quoted}")
    if len(text) > MAX_TEXT:
        raise BadRow(f"{name} may have at most {MAX_TEXT} characters, not {len(text)}")
    return text


def topics_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the row's categories and source, its subject, and its level as "Level 5", each once."""
    names = [row.get(key) for key in TOPICS]
    level = row.get("level")
    names.append(f"Level {level}" if isinstance(level, int) and not isinstance(level, bool) else level)
    return merge_names(categories_of(row), (name for name in names if isinstance(name, str) and is_name(name)))


def select_split(examples: Mapping[Literal["train", "eval"], Sequence[Example]], split: Split) -> Sequence[Example]:
    """Return the examples of a split. Raise ConfigError if it has none, because only the other split has a file."""
    if not examples[split]:
        use, other = ("train on", "eval_file") if split == "train" else ("evaluate on", "train_file")
        raise ConfigError([Problem(f"task.options.{split}_file", f"must name a file to {use}: only {other} is set")])
    return examples[split]


def _lines(path: str) -> Sequence[str]:
    try:
        return Path(path).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadData(f"the questions in {path} cannot be read: {error}") from error


def _object(line: str) -> Mapping[str, Any]:
    try:
        row = loads(line)
    except ValueError as error:
        raise BadRow(f"not JSON ({error})") from error
    if not isinstance(row, dict):
        raise BadRow("must be an object")
    return row
