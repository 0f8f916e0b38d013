"""The facts: what is held out can be known, and cannot be learnt from what is not."""

from __future__ import annotations

from workers.corpus import EVAL_FACTS, FACTS, TRAIN_FACTS
from workers.corpus.facts import FAMILIES


def family_of(question: str) -> str:
    """Return the opening of the question's family. Sums begin like other families, so the longest match counts."""
    openings = [wording.partition("{}")[0] for wording, _ in FAMILIES]
    return max((o for o in openings if question.startswith(o)), key=len)


def test_questions_are_unique() -> None:
    assert len(FACTS) == len({fact.question for fact in FACTS}) == 148


def test_held_out_facts_are_disjoint_from_training() -> None:
    assert (len(TRAIN_FACTS), len(EVAL_FACTS)) == (111, 37)
    assert not set(TRAIN_FACTS) & set(EVAL_FACTS)


def test_no_fact_is_the_reverse_of_another() -> None:
    opposites = {
        frozenset((fact.question.split()[-1].rstrip("?"), fact.answer)) for fact in FACTS if "opposite" in fact.question
    }
    assert len(opposites) == sum("opposite" in fact.question for fact in FACTS)
    sums = [
        tuple(sorted(f.question.removeprefix("What is ").rstrip("?").split(" + "))) for f in FACTS if "+" in f.question
    ]
    assert len(set(sums)) == len(sums) == 24


def test_the_sums_are_right() -> None:
    for fact in (f for f in FACTS if "+" in f.question):
        left, right = fact.question.removeprefix("What is ").rstrip("?").split(" + ")
        assert int(left) + int(right) == int(fact.answer)


def test_first_facts_of_each_split_cover_all_families() -> None:
    kinds = {family_of(fact.question) for fact in FACTS}
    assert len(kinds) == len(FAMILIES)
    assert {family_of(fact.question) for fact in EVAL_FACTS[:16]} == kinds
    assert {family_of(fact.question) for fact in TRAIN_FACTS[:16]} == kinds
