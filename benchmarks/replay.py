"""Measure how fast the weights of an ES run are rebuilt from its replay log, on the tiny model and one core.

    python -m benchmarks.replay

The run has 30 members and responses of at most 12 tokens, since only its updates count. Dead iterations, which update
nothing, are not counted as updates. An update is one iteration's sum over its members, added to the
master. Loading the base model and writing the model for an evaluation are not counted; they happen once a run and once
a point.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import results

ITERATIONS, ROUNDS = 40, 3
GOAL_UPDATES_PER_SECOND = 20
CONFIG = {
    "method": "es",
    "model": {"path": "tiny", "device": "cpu"},
    "evaluation": {"every": 0, "prompts": 1, "samples": 0},
}
ES = {
    "iterations": ITERATIONS,
    "population": 30,
    "sigma": 0.02,
    "alpha": 0.01,
    "max_new_tokens": 12,
    "prompts": 4,
    "checkpoint_every": 0,
}
NOISES = {"full": {"noise": "full"}, "low_rank": {"noise": "low_rank", "rank": 1}}


def train(folder: Path, noise: dict[str, object]) -> Path:
    """Train with this noise. Return the attempt's directory."""
    config = folder / "run.json"
    config.write_text(json.dumps(CONFIG | {"es": ES | noise}), encoding="utf-8")
    out = folder / "attempt"
    subprocess.run(
        [sys.executable, "-m", "workers.train", str(config), "--out", str(out)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return out


def updates_per_second(attempt: Path) -> float:
    """Return the updates per second of the fastest of several passes over the log."""
    from workers.engines.es.walk import Walk

    seconds = []
    for _ in range(ROUNDS):
        # Step 1 is yielded once the model is ready, so that the clock starts behind all that happens once.
        walk = Walk(attempt, [1, ITERATIONS])
        weights = walk.weights(walk.load_base())
        next(weights)
        began = time.perf_counter()
        next(weights)
        seconds.append(time.perf_counter() - began)
    lines = map(json.loads, filter(None, (attempt / "replay.jsonl").read_text(encoding="utf-8").splitlines()))
    updates = sum(bool(line.get("seeds")) for line in lines if line.get("step", 0) > 1)
    return updates / min(seconds)


def main() -> int:
    """Measure, record, and return the exit code."""
    import torch

    torch.set_num_threads(1)
    for name, noise in NOISES.items():
        with tempfile.TemporaryDirectory(prefix="esweb-bench-replay-") as folder:
            speed = updates_per_second(train(Path(folder), noise))
        figure = f"replay of the tiny model, 30 members, {name} noise, updates/s"
        results.at_least(figure, speed, GOAL_UPDATES_PER_SECOND, "/s")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
