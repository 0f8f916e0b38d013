"""Whether a text commits to a number, by value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from workers.analysis.right.numbers import Number, numbers_in
from workers.analysis.right.polarity import DENIAL, WINDOW, is_denied, is_retraction, is_supposed
from workers.analysis.right.restated import RESTATED
from workers.analysis.right.sentences import Sentence

OPERATOR_BEFORE = re.compile(r"[+*/×÷^-]\s?\(?\s?$")
OPERATOR_AFTER = re.compile(r"\s?\)?\s?[+*/×÷^]|\s?-\s?\d|\s?x\s?\d")
TIMES_BEFORE = re.compile(r"\dx?\s?\)?x?\s?[x(]\s?$")
SEGMENT_END = re.compile(r"[,;](?!\d)|\b(?:because|since|as|which|where|while|but|when|if)\b")
MARKER = re.compile(
    rf"{RESTATED}|\b(?:answer|result|total|sum|product|value|solution|next)\b"
    r"|\b(?:it|that|this)(?:'s| is| equals| makes)\b"
)
STATEMENT = re.compile(r"\b(?:is|are|equals?|be|gives?|makes?|has|have|was|contains?|get|got|becomes?)\b|[=:]")
BETWEEN = re.compile(r"\s?(?:or|to|and|/|-|through|up to)\s?(?:maybe |perhaps |even )?")
THAN = re.compile(r"\b(?:than|approximately less)\s$")
COUNTED = re.compile(r"how many ([^\W\d_]+)")
SEQUENCE = re.compile(r"\b(?:next|sequence|series|follows)\b")
STATEMENT_WORDS = 8
BARE_WORDS = 2
"""Words beside a number in a text that is the number and its unit."""


@dataclass(frozen=True)
class NumberAnswer:
    """The expected number. of_question: numbers of the question. unit: stem of what it counts, or empty.
    is_sequence: the question asks for the number that continues others."""

    value: Fraction
    is_percent: bool
    allows_percent: bool
    of_question: frozenset[Fraction]
    unit: str = ""
    is_sequence: bool = False

    def equals(self, number: Number) -> bool:
        """Return whether a number is the answer; 30 % is not 30, unless the question is about per cent."""
        return number.value == self.value and (number.is_percent == self.is_percent or self.allows_percent)


WEAK, LIKELY, STATED = range(3)


@dataclass(frozen=True)
class Commitment:
    """The answer of a sentence: numbers of one value, or None for several. strength: STATED, a statement of few words
    (LIKELY), or a number in other text (WEAK)."""

    number: Number | None
    strength: int


def number_answer(target: Number, question: str) -> NumberAnswer:
    """Return the expected answer to a question; both are in normal form."""
    counted = COUNTED.search(question)
    numbers = list(numbers_in(question))
    percent = "percent" in question or "%" in question
    asks_percent = percent and not any(number.is_percent for number in numbers)
    return NumberAnswer(
        target.value, target.is_percent, asks_percent,
        frozenset(number.value for number in numbers), _stem(counted[1]) if counted else "",
        SEQUENCE.search(question) is not None and len(numbers) > 2,
    )  # fmt: skip


def commits(sentences: Iterable[Sentence], answer: NumberAnswer) -> bool:
    """Return whether the last commitment of the sentences, in normal form, is the answer."""
    last: Commitment | None = None
    for sentence in sentences:
        if sentence.is_question and RESTATED not in sentence.text:
            continue
        if last is not None and is_retraction(sentence.text):
            last = Commitment(None, WEAK)
        commitment = _commitment(sentence.text, answer)
        if commitment and (last is None or commitment.strength >= last.strength):
            last = commitment
    return last is not None and last.number is not None and answer.equals(last.number)


def _commitment(text: str, answer: NumberAnswer) -> Commitment | None:
    """Return the commitment of one sentence; None if it holds no number that could be an answer."""
    numbers = [n for n in numbers_in(text) if not (n.is_one and not _counts_as_one(text, n, answer))]
    results = [n for n in numbers if not _is_operand(text, n)]
    if not results:
        return None
    if _is_bare(text, numbers):
        return _bare_commitment(results, answer)
    if len(results) > 1 and _offers_several(text, results, answer):
        return Commitment(None, STATED)
    if _is_list(text, results) and not answer.is_sequence:
        return Commitment(None, STATED if MARKER.search(text) else WEAK)
    stated = [n for n in results if not _is_taken_back(text, n)]
    if not stated:
        return None
    if answer.unit and (counted := [n for n in stated if _unit_of(text, n) == answer.unit]):
        return Commitment(counted[-1], STATED)
    for marker in reversed(list(MARKER.finditer(text))):
        if marker.end() <= stated[-1].start:
            after = [n for n in stated if n.start >= marker.end()]
            return Commitment(_first_result(text, marker.end(), after, answer), STATED)
    own = [n for n in stated if n.value not in answer.of_question] or stated
    is_statement = STATEMENT.search(text[: own[-1].start]) is not None and len(text.split()) <= STATEMENT_WORDS
    is_other_unit = bool(answer.unit) and _unit_of(text, own[-1]) not in ("", answer.unit)
    return Commitment(own[-1], LIKELY if is_statement and len(numbers) == 1 and not is_other_unit else WEAK)


def _bare_commitment(numbers: Sequence[Number], answer: NumberAnswer) -> Commitment:
    if answer.is_sequence:
        added = [n for n in numbers if n.value not in answer.of_question]
        return Commitment((added or list(numbers))[0], STATED)
    values = {number.value for number in numbers}
    return Commitment(numbers[-1] if len(values) == 1 else None, STATED)


def _first_result(text: str, start: int, after: Sequence[Number], answer: NumberAnswer) -> Number:
    """Return the number that the statement after a marker gives: the last of its first part that has any."""
    if answer.is_sequence:
        return next((n for n in after if n.value not in answer.of_question), after[0])
    end = next((cut.start() for cut in SEGMENT_END.finditer(text, after[0].end)), len(text))
    return [n for n in after if n.start < end][-1]


def _is_operand(text: str, number: Number) -> bool:
    before, after = text[max(0, number.start - 8) : number.start], text[number.end : number.end + 8]
    follows = OPERATOR_BEFORE.search(before) is not None and number.value >= 0
    return follows or TIMES_BEFORE.search(before) is not None or OPERATOR_AFTER.match(after) is not None


def _is_bare(text: str, numbers: Sequence[Number]) -> bool:
    """Return whether a text is numbers, and at most BARE_WORDS words of units."""
    left, at = [], 0
    for number in numbers:
        left.append(text[at : number.start])
        at = number.end
    rest = " ".join([*left, text[at:]])
    words = [word for word in rest.split() if any(character.isalnum() for character in word)]
    is_plain = not any(sign in rest for sign in (RESTATED, "="))
    return is_plain and len(words) <= (BARE_WORDS if len(numbers) == 1 else 0) and not DENIAL.search(rest)


def _offers_several(text: str, results: Sequence[Number], answer: NumberAnswer) -> bool:
    """Return whether two neighbours of different value are offered together: "7 or 8"."""
    if answer.is_sequence:
        return False
    for first, second in pairwise(results):
        between = BETWEEN.fullmatch(text, first.end, second.start)
        if between and first.value != second.value:
            are_of_question = {first.value, second.value} <= answer.of_question
            if not are_of_question or "or" in between[0]:
                return True
    return False


def _is_list(text: str, results: Sequence[Number]) -> bool:
    """Return whether three numbers of different value follow each other with commas."""
    joined = [text[a.end : b.start] == ", " and a.value != b.value for a, b in pairwise(results)]
    return any(first and second for first, second in pairwise(joined))


def _is_taken_back(text: str, number: Number) -> bool:
    before, after = text[max(0, number.start - WINDOW) : number.start], text[number.end : number.end + WINDOW]
    return is_denied(before, after) or is_supposed(before) or THAN.search(before[-24:]) is not None


def _counts_as_one(text: str, number: Number, answer: NumberAnswer) -> bool:
    """Return whether the word "one" is a number here: alone, after a statement's verb, or before the unit."""
    rest = text[: number.start] + text[number.end :]
    is_stated = STATEMENT.search(text[max(0, number.start - 8) : number.start]) is not None
    is_unit = bool(answer.unit) and _unit_of(text, number) == answer.unit
    return not rest.strip() or is_unit or (is_stated and not text[number.end :].strip())


def _unit_of(text: str, number: Number) -> str:
    """Return the stem of the word after a number."""
    for word in text[number.end : number.end + 60].replace("-", " ").split()[:2]:
        return _stem(word.strip("\"'()*,.;:"))
    return ""


def _stem(word: str) -> str:
    return word.removesuffix("es") if word.endswith(("ches", "shes", "xes", "sses")) else word.removesuffix("s")
