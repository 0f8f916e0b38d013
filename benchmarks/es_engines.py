"""Compare ES on two engines of one core each with one engine of one core: members answered and learnt from per second.

    python -m benchmarks.es_engines

The case: the tiny model, a population of 30, 16 prompts, answers of at most 40 tokens, greedy, σ = 0.01. A round is an
iteration without its scoring: the answers of all members as text, and an update by all of them, on every engine. Both
ways are measured in one process, in turn, by wall-clock time. The goal is that of the median ratio of the
rounds. It needs two cores without other load.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import torch

from benchmarks import results
from workers import tasks
from workers.config import EsConfig, ModelConfig, RunConfig, encode
from workers.engines.es.backend import make_backend
from workers.engines.es.batches import BatchPlan, choose_rows
from workers.engines.es.engine_group import EngineGroup, EngineSetup, EngineStarter
from workers.engines.es.lineage import NoiseKind, Origin
from workers.engines.es.member_memory import MemberMemory
from workers.engines.es.perturbation import Perturbation, directions, scales_of
from workers.engines.es.replay_log import FILE, ReplayLog
from workers.engines.es.seeds import member_seeds, prompt_subset
from workers.engines.es.state import State
from workers.engines.es.trainable import make_trainable
from workers.models import PromptFormat, keep_freed_memory, load
from workers.models.save import weights_sha256

GOAL = 1.6
"""The least median ratio of members per second."""
KINDS = ("low_rank", "full")
ROUNDS = 15
ES = EsConfig(population=30, prompts=16, max_new_tokens=40, sigma=0.01, alpha=0.001)


class Run:
    """A run of ES on so many engines, one iteration at a time."""

    def __init__(self, directory: Path, kind: str, engines: int) -> None:
        self.config = RunConfig.from_json({"method": "es", "es": encode(replace(ES, noise=kind))})
        es = self.config.es_section()
        loaded = load(ModelConfig(path="tiny", device="cpu"))
        weights = make_trainable(loaded, None, 0)
        scales = scales_of(weights.master, relative=False)
        memory = MemberMemory.measure(loaded, weights, Perturbation.from_config(es, scales), es)
        plan = BatchPlan.of_rows(choose_rows(es, es.prompts, memory.fitting(), "cpu", 0), es.prompts)
        state = State.first(Origin(weights_sha256(loaded.path), "float32", 0, None, scales))
        directory.mkdir()
        with ReplayLog(directory, NoiseKind(es.noise, es.rank)) as log:
            log.start(state, loaded.path)
        config = {"method": "es", "seed": 0, "es": encode(es), "model": {"path": str(loaded.path), "device": "cpu"}}
        setup = EngineSetup(config, plan, scales, state.lineage, directory / FILE, threads=1)
        backend = make_backend(loaded, weights, es, scales, plan)
        self.engines = EngineGroup(backend, plan, EngineStarter.native(0), setup, engines)
        self.engines.begin(0, state.lineage, None)
        self._format = PromptFormat.from_config(self.config, loaded.tokenizer)
        self._examples = tasks.make(self.config.task).examples("train")

    def iterate(self, number: int) -> float:
        """Return the seconds that iteration `number`, counted from 1, takes."""
        seeds = member_seeds(0, number, ES.population, antithetic=False)
        indices = prompt_subset(0, number, ES.prompts, len(self._examples))
        prompts = [self._format.ids(self._examples[i].messages) for i in indices]
        began = time.perf_counter()
        answered = sum(len(some.answers) for some in self.engines.answer(seeds, prompts, with_centre=False))
        assert answered == ES.population
        self.engines.update(number, directions(seeds, [1.0, -1.0] * (ES.population // 2), ES.alpha))
        self.engines.log(number, str(number))
        if number % ES.hash_every == 0:
            self.engines.compare(number)
        return time.perf_counter() - began


@torch.no_grad()
def main() -> int:
    """Measure, record, and return the exit code."""
    torch.set_num_threads(1)
    keep_freed_memory()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for kind in KINDS:
            single, double = (Run(folder / f"{kind}-{engines}", kind, engines) for engines in (1, 2))
            stack.enter_context(closing(double.engines))
            for _ in double.engines.wait_for_start():
                pass
            seconds = [(single.iterate(number), double.iterate(number)) for number in range(1, ROUNDS + 1)][1:]
            report(kind, seconds)
    return results.exit_code()


def report(kind: str, seconds: list[tuple[float, float]]) -> None:
    """Record members per second on two engines, and the median ratio to one."""
    ratios = [single / two for single, two in seconds]
    rate = ES.population / statistics.median(two for _, two in seconds)
    print(f"{kind}: {min(ratios):.2f}-{max(ratios):.2f}x one engine")
    results.times_peer(
        f"{kind}, two engines", rate, "members/s", ratio=statistics.median(ratios), goal=GOAL, peer="one engine"
    )


if __name__ == "__main__":
    sys.exit(main())
