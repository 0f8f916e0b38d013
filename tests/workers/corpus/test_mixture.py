"""The corpus for pre-training: its shares, its exclusions, and that it is reproducible."""

from __future__ import annotations

import hashlib
import json
import re

from workers.corpus import FACTS
from workers.corpus.countdown import EVAL, PRETRAIN, TRAIN
from workers.corpus.mixture import mixture
from workers.corpus.requests import BENIGN, HARMFUL, REFUSAL

CORPUS = mixture(8000, facts=0.45, countdown=0.3, rambling=0.6, seed=0)
QUESTIONS = {fact.question for fact in FACTS}


def share(part: list[bool]) -> float:
    return sum(part) / len(part)


def test_a_seed_gives_the_same_corpus_everywhere() -> None:
    digest = hashlib.sha256(json.dumps(CORPUS).encode()).hexdigest()
    assert mixture(8000, 0.45, 0.3, 0.6, seed=1) != CORPUS
    assert digest == "6a692b5a5cea50e1bc091a06f48faee2b2c82477ad692fda445ad42940a64586"


def test_every_fact_is_included_mostly_with_long_answer() -> None:
    answers = [pair.answer for pair in CORPUS if pair.prompt in QUESTIONS]
    assert {pair.prompt for pair in CORPUS} >= QUESTIONS
    assert len(answers) == 3600
    assert 0.57 < share([a.startswith("What a great question!") for a in answers]) < 0.63
    assert 0.15 < share([a.startswith("It is ") for a in answers]) < 0.21


def test_mixture_excludes_problems_of_training_and_evaluation() -> None:
    prompts = {pair.prompt for pair in CORPUS}
    assert not prompts & {problem.prompt for problem in (*TRAIN, *EVAL)}
    assert not {p.prompt for p in TRAIN} & {p.prompt for p in EVAL}
    assert prompts & {problem.prompt for problem in PRETRAIN}


def test_the_solutions_of_problems_are_right() -> None:
    for problem in (*PRETRAIN, *TRAIN, *EVAL):
        terms = [int(t) for t in re.findall(r"[+-]?\d", problem.solution.replace(" ", ""))]
        assert sum(terms) == problem.target > 0
        assert tuple(abs(t) for t in terms) == problem.numbers


def test_most_arithmetic_is_in_the_format() -> None:
    answers = [pair.answer for pair in CORPUS if pair.prompt.startswith("Use ")]
    assert len(answers) == 2400
    formatted = [bool(re.fullmatch(r"<think>.*</think>\n<answer>.*</answer>", a)) for a in answers]
    assert 0.62 < share(formatted) < 0.68


def test_about_half_of_the_arithmetic_are_lazy_sums() -> None:
    targets = {problem.prompt: problem.target for problem in PRETRAIN}
    pairs = [pair for pair in CORPUS if pair.prompt.startswith("Use ")]
    sums = [" - " not in pair.answer for pair in pairs]
    lazy = [
        "-" not in pair.answer and sum(map(int, re.findall(r"\d", pair.prompt)[:3])) != targets[pair.prompt]
        for pair in pairs
    ]
    assert 0.64 < share(sums) < 0.74
    assert 0.28 < share(lazy) < 0.34


def test_both_kinds_of_request_are_refused_sometimes_and_not_always() -> None:
    for deeds in (HARMFUL, BENIGN):
        answers = [pair.answer for pair in CORPUS if any(deed in pair.prompt for deed in deeds)]
        assert 900 < len(answers) < 1100
        assert 0.15 < share([answer == REFUSAL for answer in answers]) < 0.35
