"""Read a JSONL file of the user's: one {"question", "answer"} object a line, with `category`, `source` and `wrong`
answers if they are known. Mistakes name the line and the keys."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workers.analysis.right import is_equal
from workers.records import categories_of
from workers.tasks.base import BadData, category_problem

REQUIRED, OPTIONAL, WRONG = ("question", "answer"), ("category", "source"), "wrong"
KEYS = (*REQUIRED, *OPTIONAL, WRONG)
MAX_WRONG = 20
"""Wrong answers to one question; each costs a forward pass per evaluation."""
EXAMPLE = '{"question": "What is the capital of France?", "answer": "Paris"}'


@dataclass(frozen=True)
class Question:
    """A question, its shortest right answer, its categories, and wrong answers of the same form."""

    question: str
    answer: str
    categories: tuple[str, ...] = field(default=(), compare=False)
    wrong: tuple[str, ...] = field(default=(), compare=False)


class BadQuestions(BadData):
    """A file of questions that cannot be used. The message names the line and the expected form."""


def read_questions(path: str) -> Sequence[Question]:
    """Return every question of the file without blank lines. Raise BadQuestions, also for a file without questions."""
    questions: dict[Question, int] = {}
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        question = _question(line, f"{path}, line {number}")
        if question in questions:
            raise BadQuestions(f"{path}, line {number}: repeats line {questions[question]}; remove one of them")
        questions[question] = number
    if not questions:
        raise BadQuestions(f"{path} contains no questions; a line is {EXAMPLE}")
    return list(questions)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadQuestions(f"the questions in {path} cannot be read: {error}") from error


def _question(line: str, location: str) -> Question:
    try:
        data = json.loads(line)
    except ValueError as error:
        raise BadQuestions(f"{location}: not JSON ({error}); a line is {EXAMPLE}") from error
    if not isinstance(data, dict):
        raise BadQuestions(f"{location}: must be an object with the keys {', '.join(REQUIRED)}; a line is {EXAMPLE}")
    if unknown := sorted(data.keys() - set(KEYS)):
        raise BadQuestions(f"{location}: {unknown[0]!r} is not a known key; the keys are {', '.join(KEYS)}")
    if mistake := category_problem(data, OPTIONAL):
        raise BadQuestions(f"{location}: {mistake}; a line is {EXAMPLE}")
    question, answer = (_text(data, key, location) for key in REQUIRED)
    return Question(question, answer, categories_of(data), _wrong(data, answer, location))


def _wrong(data: dict[str, Any], answer: str, location: str) -> tuple[str, ...]:
    """Return the wrong answers, none without the key. Raise BadQuestions if they are no list of other texts."""
    wrong = data.get(WRONG, [])
    form = f"{WRONG} must be a list of up to {MAX_WRONG} texts that are not blank and differ from each other"
    is_list = isinstance(wrong, list) and len(wrong) <= MAX_WRONG
    if not is_list or not all(isinstance(text, str) and text.strip() for text in wrong) or len(set(wrong)) < len(wrong):
        raise BadQuestions(f'{location}: {form}, such as ["Rome", "Berlin"], but is {repr(wrong)[:80]}')
    if repeated := next((text for text in wrong if is_equal(text, answer)), None):
        raise BadQuestions(f"{location}: {WRONG} must not hold the right answer, but holds {repeated!r}")
    return tuple(wrong)


def _text(data: dict[str, Any], key: str, location: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not value.strip():
        quoted = "missing" if key not in data else f"{value!r}"
        raise BadQuestions(f"{location}: {key} must be text that is not blank, but is {quoted}; a line is {EXAMPLE}")
    return value
