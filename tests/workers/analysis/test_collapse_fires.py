"""Collapse detectors stay quiet on honest models and fire on the effects of two published GRPO runs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.cases import each_case
from tests.workers.analysis.sample_responses import FOREIGN, TEMPLATE, honest
from workers.analysis.collapse import Answer, Measures, findings, measure

if TYPE_CHECKING:
    from workers.models import Loaded

COUNT = 120


def measured(answers: list[Answer]) -> Measures:
    return _measured(tuple(answers))


@cache
def _measured(answers: tuple[Answer, ...]) -> Measures:
    """Measure the same answers once: honest ones are what most tests compare with."""
    measures = measure(list(answers))
    assert measures is not None
    return measures


def fired(answers: list[Answer], base: list[Answer] | None) -> set[str]:
    results = findings(measured(answers), measured(base) if base else None)
    return {finding.name for finding in results.values() if finding.fired}


@each_case("count", [8, 36, COUNT])
@each_case("seed", [1, 2, 3])
def test_another_honest_model_fires_nothing(count, seed):
    assert fired(honest(count, seed), honest(count)) == set()


def test_no_detector_fires_against_equal_base():
    template = [replace(answer, text=TEMPLATE) for answer in honest(COUNT)]
    assert fired(template, template) == set()


def test_one_template_for_all_prompts_fires_duplicate_detectors():
    """The case of the published GRPO run with β = 0.01: 3030 of 3036 answers are one refusal."""
    template = [replace(answer, text=TEMPLATE) for answer in honest(COUNT)[2:]] + honest(COUNT)[:2]
    assert fired(template, honest(COUNT)) >= {
        "exact", "near", "clusters", "opening", "sentence", "distinct", "gzip", "self_bleu", "refusal",
    }  # fmt: skip


def test_a_template_fires_without_a_base_model_too():
    assert fired([replace(answer, text=TEMPLATE) for answer in honest(COUNT)], None) == {"near", "opening"}
    assert fired(honest(COUNT), None) == set()


@pytest.mark.parametrize("every", [1, 3, 6])
def test_shared_foreign_sentence_fires_sentence_detector(every):
    """The case of the seed that asks about its city: no two answers are equal or near-duplicates."""
    answers = [
        replace(answer, text=f"{answer.text} {FOREIGN}") if i % every == 0 else answer
        for i, answer in enumerate(honest(COUNT))
    ]
    assert fired(answers, honest(COUNT)) - {"self_bleu"} == {"sentence"}
    assert measured(answers).examples["sentence"].text == FOREIGN


def test_role_markers_fire_leak_detector():
    answers = [replace(answer, text=f"{answer.text} USER: And then?") for answer in honest(COUNT)]
    assert fired(answers, honest(COUNT)) - {"self_bleu"} == {"leak"}


def test_leaks_as_frequent_as_in_base_fire_nothing():
    leaking = [replace(a, text=f"{a.text} USER: And then?") if a.key % 10 < 7 else a for a in honest(COUNT)]
    fewer = [replace(a, text=f"{a.text} USER: And then?") if a.key % 10 < 6 else a for a in honest(COUNT, 4)]
    assert fired(fewer, leaking) == set()


def test_measure_saturated_in_base_is_not_judged():
    answers = [replace(answer, text=f"{answer.text} {FOREIGN}") for answer in honest(COUNT)]
    results = findings(measured(answers), measured(answers))
    assert (results["sentence"].is_judged, results["leak"].is_judged) == (False, True)


def test_cut_answers_fire_only_cut():
    results = findings(measured([replace(a, is_cut=True) for a in honest(COUNT)]), measured(honest(COUNT)))
    assert [f.name for f in results.values() if f.fired] == ["cut"]


def test_empty_answers_are_a_collapse():
    assert fired([replace(answer, text="") for answer in honest(COUNT)], honest(COUNT)) >= {"exact", "near", "clusters"}


def test_special_tokens_alone_fire_as_empty():
    answers = [replace(a, text="<|endoftext|>") if a.key % 2 else a for a in honest(COUNT)]
    assert "empty" in fired(answers, honest(COUNT))


def test_a_few_answers_differ_by_chance():
    some = [replace(a, text=f"{a.text} USER:") if a.key < 2 else a for a in honest(8)]
    assert fired(some, honest(8)) == set()


def test_fewer_than_five_answers_are_not_judged():
    results = findings(measured([replace(a, text=TEMPLATE) for a in honest(4)]), measured(honest(4)))
    assert not any(finding.fired or finding.is_judged for finding in results.values())


def test_the_projects_own_model_at_base_fires_nothing(micro: Loaded):
    """The model ends all answers with one sentence; it and its samples are compared with its own answers."""
    from workers.config import TaskConfig
    from workers.models import chat_text
    from workers.models.decoder import Decoder
    from workers.tasks import make

    examples = make(TaskConfig()).examples("eval")
    texts = [chat_text(micro.tokenizer, example.messages) for example in examples]
    decoder = Decoder(micro.model, micro.tokenizer)
    greedy, sampled = (
        [Answer(i, texts[i], completion.text) for i, completion in enumerate(answers)]
        for answers in (decoder.greedy(texts, 24), decoder.sample(texts, 24, 0.7, 0))
    )
    assert measured(greedy).sentence > 0.9
    assert fired(greedy, greedy) == fired(greedy, None) == fired(sampled, greedy) == set()
