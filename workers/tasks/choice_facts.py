"""Multiple-choice questions from the generated facts, for models that know them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache

from workers.corpus import FACTS, Fact
from workers.tasks.choice_file import ChoiceQuestion, letter_options
from workers.tasks.fact_kinds import kind_of

OPTIONS = 4


def make_choices(facts: Sequence[Fact]) -> list[ChoiceQuestion]:
    """Return a question for each fact, with the answers of three others of its kind as wrong options.

    The wrong options, their order and the letter of the right one follow from a hash of the question.
    """
    return [_choice(fact) for fact in facts]


def wrong_answers(fact: Fact) -> list[str]:
    """Return the answers of three other facts of its kind, which a hash of the question selects."""
    others = _answers()[kind_of(fact)] - {fact.answer}
    return sorted(others, key=lambda answer: _hash(fact.question, answer))[: OPTIONS - 1]


def _choice(fact: Fact) -> ChoiceQuestion:
    correct = _hash(fact.question) % OPTIONS
    options = wrong_answers(fact)
    options.insert(correct, fact.answer)
    return letter_options(fact.question, options, correct, (kind_of(fact),))


@cache
def _answers() -> dict[str, frozenset[str]]:
    """Return kind -> the answers of all facts of this kind."""
    answers: dict[str, set[str]] = {}
    for fact in FACTS:
        answers.setdefault(kind_of(fact), set()).add(fact.answer)
    return {kind: frozenset(of_kind) for kind, of_kind in answers.items()}


def _hash(*texts: str) -> int:
    return int.from_bytes(hashlib.sha256("\x1f".join(texts).encode()).digest()[:8])
