"""Check that engines hold equal weights after 100 updates of a 1.5B model with given coefficients, and no generation.

    python3 -m benchmarks.gpu.engines_agree [--engines 1,2,4] [--updates 100]

Engines take the GPUs in turn, and share them if there are fewer. Each number of engines starts from the same random
weights; all must end with one hash.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import torch

from benchmarks import results
from benchmarks.gpu.qwen import QWEN_1B, write_model
from benchmarks.gpu.workload import SIGMA
from workers import models
from workers.config import RunConfig
from workers.engines.es.backend import make_backend
from workers.engines.es.batches import BatchPlan
from workers.engines.es.engine_group import EngineGroup, EngineSetup, EngineStarter
from workers.engines.es.perturbation import scales_of
from workers.engines.es.trainable import make_trainable

MEMBERS = 30


def main() -> int:
    """Update with every number of engines. Return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--engines", default="1,2,4")
    parser.add_argument("--updates", type=int, default=100)
    options = parser.parse_args()
    numbers = [int(number) for number in options.engines.split(",")]
    with tempfile.TemporaryDirectory() as name, torch.no_grad():
        folder = Path(name) / "model"
        write_model(QWEN_1B, folder, torch.device("cuda"))
        for noise in ("full", "low_rank"):
            hashes = [_update(folder, noise, count, options.updates) for count in numbers]
            figure = f"hashes of {options.engines} engines after {options.updates} updates, {noise}"
            results.at_most(figure, len(set(hashes)), 1, "different")
    return results.exit_code()


def _update(folder: Path, noise: str, count: int, updates: int) -> str:
    """Return the hash of the weights after updates by so many engines, which compare their hashes."""
    torch.cuda.empty_cache()
    es = {"noise": noise, "population": 2, "sigma": SIGMA, "rows": 8, "max_new_tokens": 16, "engines": count}
    config = {"method": "es", "seed": 7, "es": es, "model": {"path": str(folder), "device": "cuda"}}
    run = RunConfig.from_json(config)
    loaded = models.load(run.model)
    parameters = make_trainable(loaded, None, run.seed)
    scales = scales_of(parameters.master, False)
    gpus = torch.cuda.device_count()
    plan = BatchPlan(8, 2, columns=32)
    backend = make_backend(loaded, parameters, run.es_section(), scales, plan)
    setup = EngineSetup(config, plan, scales, "origin", folder / "replay.jsonl", 2)
    began = time.perf_counter()
    with closing(EngineGroup(backend, plan, EngineStarter.native(gpus), setup, count)) as group:
        group.begin(0, "origin", None)
        for message in group.wait_for_start():
            print(message, flush=True)
        started = time.perf_counter() - began
        for step in range(1, updates + 1):
            # As a run's: 30 coefficients of both signs, other ones in every step.
            group.update(step, {1000 * step + i: (-1) ** i * 1e-5 * (i + step % 7) for i in range(1, MEMBERS + 1)})
            group.log(step, f"step {step}")
        waiting = group.compare(updates)
        states: Any = [(engine.number, engine.state, engine.weights[:8]) for engine in group.report()]
        seconds = time.perf_counter() - began - started
    if waiting or any(state != "ready" for _, state, _ in states):
        raise RuntimeError(f"engines did not take part to the end: {states}")
    weights = backend.weights_hash()
    print(f"{noise}, {count} engines: {weights[:16]} {states}; {seconds / updates:.3f} s an update", flush=True)
    return weights


if __name__ == "__main__":
    sys.exit(main())
