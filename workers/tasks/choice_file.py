"""Read multiple-choice questions from JSONL as MMLU, ARC and HellaSwag are published.

    MMLU         question, choices, answer, subject       the answer is a position from 0 or a letter
    ARC          question with stem and choices, answerKey        each choice has text and label
    ARC, flat    question, choices with text and label, answerKey
    HellaSwag    ctx, endings, label                      the label is a position from 0

Whatever their labels are, options get the letters A, B, C, … in their order. Any line may have a category and a source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from workers.tasks.published_file import BadRow, as_text, read_published, text_of, topics_of
from workers.tasks.question_file import Question

FORMS = (
    '{"question": "6 · 7?", "choices": ["13", "42"], "answer": 1}',
    '{"question": {"stem": "6 · 7?", "choices": [{"text": "13", "label": "A"}, {"text": "42", "label": "B"}]}, '
    '"answerKey": "B"}',
    '{"question": "6 · 7?", "choices": {"text": ["13", "42"], "label": ["A", "B"]}, "answerKey": "B"}',
    '{"ctx": "6 · 7 is", "endings": ["13", "42"], "label": 1}',
)


@dataclass(frozen=True)
class ChoiceQuestion(Question):
    """A question with its lettered options below it. Its answer is a letter, one of `letters`."""

    letters: str = "ABCD"


def read_choices(path: str) -> list[ChoiceQuestion]:
    """Return every question of the file, in its order. Raise BadData."""
    return read_published(path, FORMS, _choice)


def letter_options(
    question: str, options: Sequence[str], correct: int, categories: tuple[str, ...] = ()
) -> ChoiceQuestion:
    """Return the question with its options on lettered lines; `correct` is the position of the right one, from 0."""
    letters = ascii_uppercase[: len(options)]
    lines = [f"{letter}. {option}" for letter, option in zip(letters, options, strict=True)]
    return ChoiceQuestion("\n".join([question, *lines]), letters[correct], categories, letters=letters)


def _choice(row: Mapping[str, Any]) -> ChoiceQuestion:
    if "ctx" in row:
        options = _texts(row.get("endings"), "endings")
        return letter_options(text_of(row, "ctx"), options, _position(row, "label", options), topics_of(row))
    nested = row.get("question")
    source = nested if isinstance(nested, Mapping) else row
    question = text_of(source, "stem") if source is nested else text_of(row, "question")
    choices = source.get("choices")
    if source is nested or isinstance(choices, Mapping) or "answerKey" in row:
        options, labels = _labelled(choices)
        return letter_options(question, options, _labelled_position(row, labels), topics_of(row))
    options = _texts(choices, "choices")
    return letter_options(question, options, _position(row, "answer", options), topics_of(row))


def _texts(values: Any, name: str) -> list[str]:
    if not isinstance(values, list) or not 2 <= len(values) <= len(ascii_uppercase):
        raise BadRow(f"{name} must be a list of 2 to {len(ascii_uppercase)} options, but is {_quote(values)}")
    return [as_text(value, f"option {number}") for number, value in enumerate(values, start=1)]


def _labelled(choices: Any) -> tuple[list[str], list[str]]:
    """Return (options, labels) of ARC's choices in either form."""
    if isinstance(choices, list) and all(isinstance(choice, Mapping) for choice in choices):
        choices = {key: [choice.get(key) for choice in choices] for key in ("text", "label")}
    if not isinstance(choices, Mapping):
        raise BadRow(f"choices must be a list of objects with text and label, but is {_quote(choices)}")
    options, labels = _texts(choices.get("text"), "choices.text"), _texts(choices.get("label"), "choices.label")
    if len(options) != len(labels) or len(set(labels)) < len(labels):
        raise BadRow(f"choices must have a label of its own for each text, but the labels are {_quote(labels)}")
    return options, labels


def _labelled_position(row: Mapping[str, Any], labels: Sequence[str]) -> int:
    answer = text_of(row, "answerKey")
    if answer not in labels:
        raise BadRow(f"answerKey must be one of the labels {', '.join(labels)}, but is {_quote(answer)}")
    return labels.index(answer)


def _position(row: Mapping[str, Any], key: str, options: Sequence[str]) -> int:
    """Return the position of the right option, from a position or a letter."""
    value, letters = row.get(key), ascii_uppercase[: len(options)]
    if isinstance(value, str) and len(value) == 1 and value in letters:
        return letters.index(value)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 2:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < len(options):
        valid = f"a position from 0 to {len(options) - 1} or a letter from A to {letters[-1]}"
        raise BadRow(f"{key} must be {valid}, but is {_quote(value)}")
    return value


def _quote(value: Any) -> str:
    return "missing" if value is None else repr(value)[:80]
