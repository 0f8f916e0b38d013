"""Multiple-choice questions from the generated facts, for models that know them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from workers.corpus import FACTS, Fact
from workers.tasks.choice_file import ChoiceQuestion, letter_options
from workers.tasks.fact_kinds import kind_of

OPTIONS = 4


def make_choices(facts: Sequence[Fact]) -> list[ChoiceQuestion]:
    """Return a question for each fact, with the answers of three others of its kind as wrong options.

    The wrong options, their order and the letter of the right one follow from a hash of the question.
    """
    answers: dict[str, list[str]] = {}
    for fact in FACTS:
        answers.setdefault(kind_of(fact), []).append(fact.answer)
    return [_choice(fact, kind_of(fact), answers[kind_of(fact)]) for fact in facts]


def _choice(fact: Fact, kind: str, answers: Sequence[str]) -> ChoiceQuestion:
    others = sorted(set(answers) - {fact.answer}, key=lambda answer: _hash(fact.question, answer))
    correct = _hash(fact.question) % OPTIONS
    options = others[: OPTIONS - 1]
    options.insert(correct, fact.answer)
    return letter_options(fact.question, options, correct, (kind,))


def _hash(*texts: str) -> int:
    return int.from_bytes(hashlib.sha256("\x1f".join(texts).encode()).digest()[:8])
