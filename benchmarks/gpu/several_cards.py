"""Compare the answers a second of one engine per card on several cards with one card of the same machine.

    python3 -m benchmarks.gpu.several_cards [--cards 1,2,4] [--rehearse]

A 1.5B model with random weights, 200 prompts of 12 tokens. Each answer has 256 tokens: engines are processes of their
own, to which no list of lengths can be passed. An iteration is a run's: engines answer, all of them update, and
their hashes are compared at the end. `--rehearse` runs the program with a small model and two engines on a CPU, and
compares nothing.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from benchmarks import results
from benchmarks.gpu.qwen import QWEN_1B, QwenSizes, load_random, write_folder
from benchmarks.gpu.workload import PROMPT_TOKENS, SIGMA, draw_workload
from workers import models
from workers.config import RunConfig
from workers.engines.es.backend import make_backend
from workers.engines.es.batches import BatchPlan
from workers.engines.es.captured_plan import batches_of, plan_on_card
from workers.engines.es.engine_group import EngineGroup, EngineSetup, EngineStarter
from workers.engines.es.perturbation import scales_of
from workers.engines.es.trainable import make_trainable

SMALL = QwenSizes(64, 128, 4, 2, 2000, is_tied=True)
ITERATIONS = 3
"""Measured ones. The first iteration of each number of cards is not counted."""


@dataclass(frozen=True)
class Case:
    """A kind of noise, its members for a number of cards, and the goal for each number of cards."""

    name: str
    noise: str
    members: int
    per_card: bool
    goals: dict[int, float]

    def members_on(self, cards: int) -> int:
        """Return the population of a run on so many cards."""
        return self.members * (cards if self.per_card else 1)


CASES = (
    Case("full noise, 32 members", "full", 32, per_card=False, goals={2: 1.9, 4: 3.6}),
    Case("low-rank noise, 30 members a card", "low_rank", 30, per_card=True, goals={2: 1.9, 4: 3.7}),
    Case("low-rank noise, 30 members in all", "low_rank", 30, per_card=False, goals={}),
)


@dataclass(frozen=True)
class Machine:
    """The hardware and sizes of the program: the device, the model's sizes, prompts of an iteration and tokens of an
    answer."""

    device: str
    sizes: QwenSizes
    prompts: int
    tokens: int


def main() -> int:
    """Measure every case on every number of cards. Return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cards", default="1,2,4")
    parser.add_argument("--rehearse", action="store_true", help="a small model on the CPU")
    options = parser.parse_args()
    machine = Machine("cpu", SMALL, 3, 8) if options.rehearse else Machine("cuda", QWEN_1B, 200, 256)
    available = 2 if options.rehearse else torch.cuda.device_count()
    numbers = [int(number) for number in options.cards.split(",") if int(number) <= available]
    print(f"{available} of {'CPU' if options.rehearse else torch.cuda.get_device_name()}", flush=True)
    with tempfile.TemporaryDirectory() as name, torch.no_grad():
        folder = Path(name) / "model"
        _write_model(machine, folder)
        for case in CASES:
            rates = {cards: _answers_a_second(machine, folder, case, cards) for cards in numbers}
            if not options.rehearse:
                _compare(case, rates)
    return results.exit_code()


def _write_model(machine: Machine, folder: Path) -> None:
    """Write a model of random weights whose end token is never the likeliest: its logit is almost 0."""
    write_folder(machine.sizes, folder)
    model = load_random(machine.sizes, folder, torch.device(machine.device)).model
    model.generation_config.eos_token_id = machine.sizes.vocabulary - 1
    model.model.embed_tokens.weight[-1] = 0
    model.save_pretrained(folder)


def _compare(case: Case, rates: dict[int, float]) -> None:
    """Give the results of one case: cards -> answers a second."""
    for cards, rate in rates.items():
        ratio = rate / rates[min(rates)]
        if cards in case.goals:
            results.at_least(f"{case.name}: {cards} cards, {rate:.0f} answers/s", ratio, case.goals[cards], "x one")
        else:
            results.without_goal(f"{case.name}: {cards} cards, {rate:.0f} answers/s", ratio, "x one")
    for cards in case.goals.keys() - rates.keys():
        results.not_measured(f"{case.name}: {cards} cards", "the machine has fewer")


def _answers_a_second(machine: Machine, folder: Path, case: Case, cards: int) -> float:
    """Return the answers a second of whole iterations, with their update."""
    prompts = draw_workload(machine.sizes.vocabulary).prompts[: machine.prompts]
    members = case.members_on(cards)
    with _engines(machine, folder, case.noise, members, cards) as group:
        began = time.perf_counter()
        for step in range(1, ITERATIONS + 2):
            seeds = list(range(1000 * step, 1000 * step + members))
            answered = [a for some in group.answer(seeds, prompts, with_centre=False) for a in some.answers]
            lengths = {len(answer.tokens) for of_member in answered for answer in of_member}
            if len(answered) != members or lengths != {machine.tokens}:
                raise RuntimeError(f"{len(answered)} of {members} members answered, with {lengths} tokens")
            group.update(step, dict.fromkeys(seeds, 1e-6))
            group.log(step, f"step {step}")
            if step == 1:
                began = time.perf_counter()
        seconds = (time.perf_counter() - began) / ITERATIONS
        waiting = group.compare(ITERATIONS + 1)
        engines = [(engine.device, engine.state, f"{engine.seconds:.2f} s") for engine in group.report()]
    if waiting or any(state != "ready" for _, state, _ in engines):
        raise RuntimeError(f"engines did not take part to the end: {engines}")
    print(f"{case.name}, {cards} cards: {seconds:.2f} s an iteration of {members} members {engines}", flush=True)
    return members * len(prompts) / seconds


@contextmanager
def _engines(machine: Machine, folder: Path, noise: str, members: int, cards: int) -> Iterator[EngineGroup]:
    """Yield engines that have started, one per card; this process is the first."""
    es = {"noise": noise, "population": members, "sigma": SIGMA, "max_new_tokens": machine.tokens, "engines": cards}
    config = {"method": "es", "seed": 7, "es": es, "model": {"path": str(folder), "device": machine.device}}
    run = RunConfig.from_json(config)
    loaded = models.load(run.model)
    parameters = make_trainable(loaded, None, run.seed)
    scales = scales_of(parameters.master, False)
    plan = BatchPlan(machine.prompts * 4, 4)
    if machine.device == "cuda":
        gc.collect()
        torch.cuda.empty_cache()
        fitted = plan_on_card(
            loaded, run.es_section(), prompts=machine.prompts, longest_prompt=PROMPT_TOKENS, engines=cards
        )
        print(fitted.describe(), flush=True)
        plan = batches_of(fitted)
    backend = make_backend(loaded, parameters, run.es_section(), scales, plan)
    setup = EngineSetup(config, plan, scales, "origin", folder / "replay.jsonl", 4)
    starter = EngineStarter.native(cards if machine.device == "cuda" else 0)
    with closing(EngineGroup(backend, plan, starter, setup, cards)) as group:
        group.begin(0, "origin", None)
        for message in group.wait_for_start():
            print(message, flush=True)
        yield group


if __name__ == "__main__":
    sys.exit(main())
