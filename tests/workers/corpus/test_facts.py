"""The facts: what is held out can be known, and cannot be learnt from what is not."""

from __future__ import annotations

from workers.corpus import EVAL_FACTS, FACTS, TRAIN_FACTS
from workers.corpus.facts import FAMILIES


def family_of(question: str) -> str:
    """The wording it was asked in. Sums begin as the others do, so the longest match counts."""
    openings = [wording.partition("{}")[0] for wording, _ in FAMILIES]
    return max((o for o in openings if question.startswith(o)), key=len)


def test_each_question_is_asked_once() -> None:
    assert len(FACTS) == len({fact.question for fact in FACTS}) == 148


def test_enough_is_held_out_and_none_of_it_is_trained_on() -> None:
    assert (len(TRAIN_FACTS), len(EVAL_FACTS)) == (111, 37)
    assert not set(TRAIN_FACTS) & set(EVAL_FACTS)


def test_no_fact_is_another_one_turned_round() -> None:
    asked = {
        frozenset((fact.question.split()[-1].rstrip("?"), fact.answer)) for fact in FACTS if "opposite" in fact.question
    }
    assert len(asked) == sum("opposite" in fact.question for fact in FACTS)
    sums = [
        tuple(sorted(f.question.removeprefix("What is ").rstrip("?").split(" + "))) for f in FACTS if "+" in f.question
    ]
    assert len(set(sums)) == len(sums) == 24


def test_the_sums_are_right() -> None:
    for fact in (f for f in FACTS if "+" in f.question):
        left, right = fact.question.removeprefix("What is ").rstrip("?").split(" + ")
        assert int(left) + int(right) == int(fact.answer)


def test_the_first_facts_of_either_half_ask_every_kind_of_question() -> None:
    kinds = {family_of(fact.question) for fact in FACTS}
    assert len(kinds) == len(FAMILIES)
    assert {family_of(fact.question) for fact in EVAL_FACTS[:16]} == kinds
    assert {family_of(fact.question) for fact in TRAIN_FACTS[:16]} == kinds
