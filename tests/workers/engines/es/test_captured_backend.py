"""The back end of captured steps answers, updates and checks its decoder as the one that works on a CPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.workers.engines.es.population import SIGMA, own_copy, prompts_of
from workers.config import EsConfig, LoraConfig
from workers.engines.es.backend import DecoderBackEnd
from workers.engines.es.batches import BatchPlan
from workers.engines.es.captured_backend import CapturedBackEnd, _in_order
from workers.engines.es.captured_plan import batches_of
from workers.engines.es.perturbation import Perturbation, scales_of
from workers.engines.es.trainable import make_trainable
from workers.memory_plan import ModelSizes, plan_memory
from workers.models import Loaded
from workers.models.decoder import Completion
from workers.models.decoder.gpu import batch

TOKENS, PROMPT_TOKENS, CARD = 2, 5, 10**11
SEEDS = [11, -11, 12]
KINDS = {
    "full": {"noise": "full", "rows": 16},
    "low-rank": {"noise": "low_rank", "rank": 2},
    "correlated": {"noise": "correlated", "rows": 16},
    "lora": {"lora": LoraConfig(rank=2, targets=("q_proj", "v_proj", "down_proj"))},
}

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


@pytest.fixture(autouse=True)
def few_steps_between_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interpreted step takes a second, also for rows that have ended."""
    monkeypatch.setattr(batch, "STEPS_A_LOOK", 2)


def small_plan(loaded: Loaded, es: EsConfig, prompts: int) -> BatchPlan:
    """Return a plan of few rows, so that slots are refilled, and two sets of weights."""
    sizes = ModelSizes.from_config(loaded.model.config.to_dict(), 4)
    return batches_of(plan_memory(sizes, es, prompts=prompts, longest_prompt=60, card=CARD, members=len(SEEDS)))


def pair_of(micro: Loaded, device: torch.device, options: dict[str, Any]) -> tuple[DecoderBackEnd, CapturedBackEnd]:
    """Return back ends of equal weights: the one of the CPU, and that of captured steps."""
    es = EsConfig(**({"sigma": 3 * SIGMA, "max_new_tokens": TOKENS, "population": len(SEEDS), "rows": 8} | options))
    backends: list[Any] = []
    for captured in (False, True):
        loaded = own_copy(micro)
        if captured:
            loaded.model.to(device)
        weights = make_trainable(loaded, es.lora, 0)
        perturbation = Perturbation.from_config(es, scales_of(weights.master, es.layer_scale))
        if es.lora:
            # B begins as zeros, which would make all members alike at the first layer.
            for name, tensor in weights.master.items():
                tensor.add_(perturbation.noise.draw([3], name, tensor)[0] * 0.05)
            weights.write(weights.master.__getitem__)
        kind = CapturedBackEnd if captured else DecoderBackEnd
        backends.append(kind(loaded, weights, perturbation, es, small_plan(loaded, es, 3) if captured else 64))
    return backends[0], backends[1]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(options, id=kind, marks=[pytest.mark.soak] if kind in ("correlated", "lora") else [])
        for kind, options in KINDS.items()
    ],
)
def test_members_and_centre_answer_as_on_a_cpu(
    micro: Loaded, kernel_device: torch.device, options: dict[str, Any]
) -> None:
    prompts = [micro.tokenizer(text)["input_ids"][-PROMPT_TOKENS:] for text in prompts_of(micro, 3)]
    with torch.no_grad():
        cpu, captured = pair_of(micro, kernel_device, options)
        assert captured.plan.weight_sets == (2 if options.get("noise") in ("full", "correlated") else 1)
        before = captured.weights_hash()
        expected = [cpu.answer([seed], prompts)[0] for seed in SEEDS]
        assert captured.answer(SEEDS, prompts) == expected
        assert expected[0] != expected[2]
        assert captured.answer(SEEDS[1:], prompts) == expected[1:]
        assert captured.answer_centre(prompts) == cpu.answer_centre(prompts)
        assert captured.weights_hash() == before == cpu.weights_hash()
        assert captured.decoder.greedy(prompts, TOKENS) == cpu.decoder.greedy(prompts, TOKENS)


def test_updates_give_the_weights_of_a_cpu_and_answers_follow_them(micro: Loaded, kernel_device: torch.device) -> None:
    prompts = [micro.tokenizer(text)["input_ids"][-PROMPT_TOKENS:] for text in prompts_of(micro, 2)]
    with torch.no_grad():
        cpu, captured = pair_of(micro, kernel_device, KINDS["low-rank"])
        before = cpu.answer_centre(prompts)
        for backend in (cpu, captured):
            backend.update(dict.fromkeys((21, 22), 40.0))
        assert captured.weights_hash() == cpu.weights_hash()
        after = cpu.answer_centre(prompts)
        assert captured.answer_centre(prompts) == after != before
        assert captured.decoder.greedy(prompts, TOKENS) == after, "an evaluation sees the update"


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS.keys())
def test_member_in_the_model_and_decay_equal_those_of_a_cpu(
    micro: Loaded, kernel_device: torch.device, options: dict[str, Any]
) -> None:
    with torch.no_grad():
        cpu, captured = pair_of(micro, kernel_device, options)
        before = captured.weights_hash()
        for backend in (cpu, captured):
            start = backend.trained.master if options.get("lora") else backend.trained.base
            backend.trained.anchor = {name: tensor.detach().clone() for name, tensor in start.items()}
        with cpu.writing_member(11), captured.writing_member(11):
            assert captured.weights_hash() == cpu.weights_hash() != before
        assert captured.weights_hash() == cpu.weights_hash() == before
        for backend in (cpu, captured):
            backend.update({21: 0.5, 22: -0.25}, decay=0.30000001192092896)
            backend.update({}, decay=0.30000001192092896)
        assert captured.weights_hash() == cpu.weights_hash() != before
        assert captured.anchor_distance() == pytest.approx(cpu.anchor_distance(), rel=1e-12)


def test_phases_of_captured_steps_are_measured(micro: Loaded, kernel_device: torch.device) -> None:
    prompts = [micro.tokenizer(text)["input_ids"][-PROMPT_TOKENS:] for text in prompts_of(micro, 1)]
    with torch.no_grad():
        _, captured = pair_of(micro, kernel_device, KINDS["full"])
        captured.phases.take()
        captured.answer(SEEDS[:1], prompts)
        captured.update({5: 1e-3})
    assert all(seconds > 0 for seconds in captured.phases.take().values())


def test_members_are_yielded_in_order_when_complete() -> None:
    answers = {index: Completion([index], str(index), False) for index in range(6)}
    parts = [[0, 3], [2], [1, 5], [], [4]]
    members = _in_order(iter([[(index, answers[index]) for index in part] for part in parts]), members=3, prompts=2)
    assert [[[answer.tokens[0] for answer in member] for member in some] for some in members] == [
        [[0, 1], [2, 3]],
        [[4, 5]],
    ]
