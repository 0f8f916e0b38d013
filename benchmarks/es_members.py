"""Measure ES on a CPU: members evaluated per CPU-second, compared with the usual loop of ES codes (`reference`).

    python -m benchmarks.es_members

The case: the tiny model, a population of 30, 16 prompts, answers of at most 40 tokens, greedy, σ = 0.01, one torch
thread, memory kept as in training. All ways are measured in one process, turn about, so that a busy machine slows each
alike; CPU time, not wall time. A round makes the noise, answers every prompt with every member and turns the answers
into text; scoring and update, the same for all, are left out. The goals are those of the median ratio of the rounds.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import torch

from benchmarks import results
from workers import tasks
from workers.config import EsConfig, ModelConfig, TaskConfig
from workers.engines.es.backend import DecoderBackEnd
from workers.engines.es.batches import BatchPlan, choose_rows
from workers.engines.es.member_memory import MemberMemory
from workers.engines.es.perturbation import Perturbation, scales_of
from workers.engines.es.seeds import member_seeds, prompt_subset
from workers.engines.es.trainable import make_trainable
from workers.models import Loaded, chat_text, keep_freed_memory, load

GOALS = {"low_rank": 5.0, "full": 3.0}
"""The least median ratio of members per CPU-second to the reference loop."""
ROUNDS = 7
ES = EsConfig(population=30, prompts=16, max_new_tokens=40, sigma=0.01)

Round = Callable[[int], list[list[str]]]
"""Iteration number -> texts [member][prompt]."""


def main() -> int:
    """Measure, record, and return the exit code."""
    torch.set_num_threads(1)
    keep_freed_memory()
    tiny = ModelConfig(path="tiny", device="cpu")
    transformers_model, loaded = load(tiny, needs_transformers=True), load(tiny)
    ways: dict[str, Round] = {
        "reference": reference(transformers_model),
        **{kind: ours(loaded, kind) for kind in GOALS},
    }
    for way in ways.values():
        way(0)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(1, ROUNDS + 1):
        for name, way in ways.items():
            seconds[name].append(cpu_seconds(way, number))
    report(seconds)
    return results.exit_code()


def reference(loaded: Loaded) -> Round:
    """Return a round that perturbs in place tensor by tensor, calls transformers' `generate` on all prompts, and
    subtracts."""

    def round_of(number: int) -> list[list[str]]:
        texts = prompts(loaded, number)
        seeds = member_seeds(0, number, ES.population, antithetic=False)
        return [perturbed_answers(loaded, seed, texts) for seed in seeds]

    return round_of


@torch.no_grad()
def perturbed_answers(loaded: Loaded, seed: int, texts: list[str]) -> list[str]:
    add_noise(loaded.model, seed, ES.sigma)
    tokens = loaded.tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False)
    out = loaded.model.generate(**tokens, do_sample=False, max_new_tokens=ES.max_new_tokens)
    add_noise(loaded.model, seed, -ES.sigma)
    answers: list[str] = loaded.tokenizer.batch_decode(out[:, tokens["input_ids"].shape[1] :], skip_special_tokens=True)
    return answers


def add_noise(model: torch.nn.Module, seed: int, scale: float) -> None:
    for parameter in model.parameters():
        generator = torch.Generator().manual_seed(seed)
        parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=scale)


def ours(loaded: Loaded, kind: str) -> Round:
    """Return a round of the engine's own back end, with its own noise."""
    es = replace(ES, noise=kind)
    weights = make_trainable(loaded, None, 0)
    perturbation = Perturbation.from_config(es, scales_of(weights.master, es.layer_scale))
    fitting = MemberMemory.measure(loaded, weights, perturbation, es).fitting()
    plan = BatchPlan.of_rows(choose_rows(es, es.prompts, fitting, "cpu", 0), es.prompts)
    backend = DecoderBackEnd(loaded, weights, perturbation, es, plan.rows)

    def round_of(number: int) -> list[list[str]]:
        cut = plan.cut(member_seeds(0, number, es.population, antithetic=False))
        batches = (backend.answer(batch.seeds, prompts(loaded, number)) for batch in cut)
        return [[answer.text for answer in member] for batch in batches for member in batch]

    return round_of


def prompts(loaded: Loaded, number: int) -> list[str]:
    examples = tasks.make(TaskConfig()).examples("train")
    indices = prompt_subset(0, number, ES.prompts, len(examples))
    return [chat_text(loaded.tokenizer, examples[i].messages) for i in indices]


def cpu_seconds(way: Round, number: int) -> float:
    began = time.process_time()
    way(number)
    return time.process_time() - began


def report(seconds: dict[str, list[float]]) -> None:
    """Record evaluations (a member on a prompt) per CPU-second, and the median ratios to the reference loop."""
    evaluations = ES.population * ES.prompts
    for name, spent in seconds.items():
        rate, unit = evaluations / statistics.median(spent), "evaluations/CPU-s"
        if name not in GOALS:
            results.without_goal(name, rate, unit)
            continue
        ratios = [base / own for base, own in zip(seconds["reference"], spent, strict=True)]
        print(f"{name}: {min(ratios):.2f}-{max(ratios):.2f}x the reference loop")
        results.times_peer(name, rate, unit, ratio=statistics.median(ratios), goal=GOALS[name], peer="reference loop")


if __name__ == "__main__":
    sys.exit(main())
