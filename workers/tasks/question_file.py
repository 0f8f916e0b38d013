"""Reads a JSONL file of the user's: one {"question", "answer"} object a line. Mistakes name the line and the keys."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workers.corpus import Fact
from workers.tasks.base import BadData

KEYS = ("question", "answer")
EXAMPLE = '{"question": "What is the capital of France?", "answer": "Paris"}'


class BadQuestions(BadData):
    """A file of questions that cannot be used. The message says which line and what a line must be."""


def read_questions(path: str) -> Sequence[Fact]:
    """Every question of the file, blank lines left out. Raises BadQuestions; a file without questions is one, too."""
    questions: dict[Fact, int] = {}
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        question = _question(line, f"{path}, line {number}")
        if question in questions:
            raise BadQuestions(f"{path}, line {number}: repeats line {questions[question]}; leave one of them out")
        questions[question] = number
    if not questions:
        raise BadQuestions(f"{path} holds no questions; a line is {EXAMPLE}")
    return list(questions)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadQuestions(f"the questions in {path} cannot be read: {error}") from error


def _question(line: str, place: str) -> Fact:
    try:
        data = json.loads(line)
    except ValueError as error:
        raise BadQuestions(f"{place}: not JSON ({error}); a line is {EXAMPLE}") from error
    if not isinstance(data, dict):
        raise BadQuestions(f"{place}: must be an object with the keys {', '.join(KEYS)}; a line is {EXAMPLE}")
    if unknown := sorted(data.keys() - set(KEYS)):
        raise BadQuestions(f"{place}: {unknown[0]!r} is not a known key; the keys are {', '.join(KEYS)}")
    return Fact(*(_text(data, key, place) for key in KEYS))


def _text(data: dict[str, Any], key: str, place: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not value.strip():
        seen = "missing" if key not in data else f"{value!r}"
        raise BadQuestions(f"{place}: {key} must be text that is not blank, and is {seen}; a line is {EXAMPLE}")
    return value
