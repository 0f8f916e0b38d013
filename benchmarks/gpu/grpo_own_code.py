"""Measure the share of a GRPO step on one GPU that this project's own code takes, within TRL's step.

    python -m benchmarks.gpu.grpo_own_code MODEL_FOLDER [--vllm]

Two runs of one program differ by more than the goal of 2 %, because the host decides the speed of generation. This
figure is from one run: rewards, measures, records of completions and the callback. The GPU finishes its work before
each of them is timed, so that none is charged for the work of TRL. Every second step records its completions.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks import results
from benchmarks.gpu.grpo_against_trl import GOAL_PERCENT, WARM_UP, config_of, describe, read_steps
from workers import train
from workers.engines.grpo import measures
from workers.engines.grpo.callback import RecordsCallback
from workers.engines.grpo.completions import CompletionRecorder
from workers.engines.grpo.rewards import Rewards

OWN = (
    (RecordsCallback, "on_step_begin"), (RecordsCallback, "on_step_end"), (RecordsCallback, "on_log"),
    (Rewards, "__call__"), (CompletionRecorder, "add_generation"), (CompletionRecorder, "observe"),
    (CompletionRecorder, "write_step"), (measures, "token_sums"), (measures, "log_sums"),
    (measures, "zero_variance_share"),
)  # fmt: skip


class Stopwatch:
    """The seconds in each function by step, without those of a function within another."""

    def __init__(self) -> None:
        self.seconds: list[Counter[str]] = [Counter()]
        self.ends: list[float] = []
        self._depth = 0

    def watch(self, owner: Any, name: str) -> None:
        """Measure all calls of a function of a class or a module."""
        setattr(owner, name, self._watched(getattr(owner, name), f"{owner.__name__.split('.')[-1]}.{name}"))

    def _watched(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            if self._depth:
                return function(*args, **kwargs)
            torch.cuda.synchronize()
            began, self._depth = time.perf_counter(), 1
            try:
                return function(*args, **kwargs)
            finally:
                self._depth, ended = 0, time.perf_counter()
                self.seconds[-1][name] += ended - began
                if name.endswith("on_step_end"):
                    self.ends.append(ended)
                    self.seconds.append(Counter())

        return watched


def main() -> int:
    """Run the command line. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.grpo_own_code", description=__doc__)
    parser.add_argument("model", type=Path, help="folder of a model, such as one of 1.5 billion random weights")
    parser.add_argument("--vllm", action="store_true", help="generate with vLLM in the trainer's process")
    parser.add_argument("--steps", type=int, default=12, help="steps, of which the first two and the last do not count")
    options = parser.parse_args()
    config = config_of(options.model, options.steps, 1, "none", vllm=options.vllm)
    stopwatch = Stopwatch()
    for owner, name in OWN:
        stopwatch.watch(owner, name)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run.json"
        run.write_text(json.dumps(config.to_json()), encoding="utf-8")
        out = Path(folder) / "out"
        if train.main([str(run), "--out", str(out)]):
            return 1
        describe("all steps that count", read_steps(out))
    counted = slice(WARM_UP, options.steps - 1)
    total = stopwatch.ends[options.steps - 2] - stopwatch.ends[WARM_UP - 1]
    own = sum(stopwatch.seconds[counted], Counter())
    steps = options.steps - 1 - WARM_UP
    results.without_goal(f"a step, mean of {steps}", total / steps, "s")
    for name, seconds in own.most_common():
        results.without_goal(f"{name} in a step", 1e3 * seconds / steps, "ms")
    results.at_most("own code, share of step time", 100 * own.total() / total, GOAL_PERCENT, "%")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
