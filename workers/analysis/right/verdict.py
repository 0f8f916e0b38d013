"""The verdict on a response: right, wrong, or None if the prompt has no right answer."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from workers.analysis.right import number_answer, truth_answer, word_answer
from workers.analysis.right.closed_sets import members
from workers.analysis.right.letter_answer import listed_letters, read_letter
from workers.analysis.right.math_form import is_same_formula, last_box
from workers.analysis.right.normal_form import MAX_CHARACTERS, normal_form
from workers.analysis.right.numbers import number_of
from workers.analysis.right.restated import words_of_question
from workers.analysis.right.sentences import answer_text, own_text, sentences_of
from workers.analysis.right.word_answer import CASED_LETTERS, WordAnswer, bare

RIGHT_PART = "right"
"""Part of a score: 1 if the response is right by the task's own rule, else 0."""
TASK_PARTS = dict.fromkeys(("countdown", "math", "choice", "own"), "contains")
"""Tasks with an exact rule of their own -> the part that holds its result in records without the part `right`."""
BOX = "\\boxed"
NO_TEXT = "no_text"
"""Part of a response of which only the scores are known."""
LETTER = re.compile(r"\(?([A-Z])\)?")
"""An expected answer that is the letter of an option, if the question lists options."""
LEAST_GROUPED = 1000
GROUPS = re.compile(r"(?<=\d) (?=\d{3}(?!\d))")
"""A space between groups of three digits: 10 000. If the answer is below LEAST_GROUPED, they are two numbers."""
WORD = re.compile(r"[^\W\d_]+")


def is_equal(text: str, target: str) -> bool:
    """Return whether the text is the expected answer, but for case and outer white space. Nothing equals an empty
    one."""
    return bool(target.strip()) and text.strip().casefold() == target.strip().casefold()


def is_right(text: str, target: str, question: str = "") -> bool | None:
    """Return whether the answer that a free text commits to is the expected one; None without an expected one.

    The last commitment counts. Takes time linear in the length of the text, of which MAX_CHARACTERS are read.
    """
    if not target.strip():
        return None
    if (letter := LETTER.fullmatch(target.strip())) and letter[1] in (letters := listed_letters(question)):
        return read_letter(text, letters) == letter[1]
    if is_equal(text, target) or _is_boxed(target, text, question):
        return True
    expected, asked = normal_form(target.strip()[:MAX_CHARACTERS]), normal_form(question[:MAX_CHARACTERS])
    if not bare(expected):
        return False  # Nothing but signs can only be repeated literally.
    answer = answer_text(_in_one_case(text, target.strip()), question)
    number = number_of(expected)
    if number is not None and number.value >= LEAST_GROUPED:
        answer = GROUPS.sub("", answer)
    sentences = sentences_of(answer, question)
    if number is not None:
        return number_answer.commits(sentences, number_answer.number_answer(number, asked))
    truth = truth_answer.truth_of(bare(expected))
    if truth is not None and bare(expected) != bare(asked):
        return truth_answer.committed_truth(sentences) is truth
    words = words_of_question(question)
    right = bare(expected)
    return word_answer.commits(sentences, WordAnswer(members(right, words, asked) | {right}, words))


def right_of(task: str, parts: Mapping[str, Any], text: str, target: str, question: str = "") -> bool | None:
    """Return whether a recorded response is right; None if that is not known.

    The part `right` counts, else the part of a task with an exact rule, else the text. A part that is no finite number,
    or lies between wrong and right, says neither.
    """
    for name in (RIGHT_PART, TASK_PARTS.get(task, "")):
        if name in parts:
            return _verdict(parts[name])
    if task in TASK_PARTS or NO_TEXT in parts:
        return None
    return is_right(text, target, question)


def _is_boxed(target: str, text: str, question: str) -> bool:
    """Return whether the response's last box holds the formula or number that is expected."""
    return BOX in text and is_same_formula(last_box(own_text(text, question)), target.strip())


def _verdict(value: object) -> bool | None:
    if isinstance(value, int | float) and math.isfinite(value) and value in (0, 1):
        return bool(value)
    return None


def _in_one_case(text: str, target: str) -> str:
    """Drop a short symbol's letters in another case: the pronoun "he" is not He, unless it stands alone."""
    if len(target) > CASED_LETTERS or not target.isalpha() or target == target.casefold() or bare(text) == bare(target):
        return text
    folded = target.casefold()
    return WORD.sub(lambda word: word[0] if word[0] == target or word[0].casefold() != folded else "_", text)
