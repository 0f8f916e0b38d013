"""Measure GRPO: time inside our callback and writer as a share of step time, over 200 steps of the micro model.

    python -m benchmarks.grpo_callback

The micro model is the hardest case: no steps are shorter. The first ten steps, in which caches fill, and the last,
which ends in the evaluation and the checkpoint that close every run, are not counted. Times are CPU seconds of this
process, so that others on the machine do not decide.
"""

from __future__ import annotations

import functools
import sys
import tempfile
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks import results
from workers import models, tasks
from workers.config import RunConfig, preset
from workers.engines.context import Context
from workers.engines.grpo import train
from workers.engines.grpo.callback import RecordsCallback
from workers.engines.grpo.rewards import Rewards
from workers.evaluation import Evaluator
from workers.records import RecordWriter

STEPS, WARM_UP = 200, 10
GOAL_PERCENT = 2.0


class Calls:
    """The begin and the end of each call of a method, in CPU seconds: float64 [calls, 2]."""

    def __init__(self, cls: type, name: str) -> None:
        self._spans: list[tuple[float, float]] = []
        setattr(cls, name, self._watched(getattr(cls, name)))

    def _watched(self, method: Any) -> Any:
        @functools.wraps(method)
        def watched(*args: Any, **kwargs: Any) -> Any:
            began = time.process_time()
            result = method(*args, **kwargs)
            self._spans.append((began, time.process_time()))
            return result

        return watched

    @property
    def counted(self) -> NDArray[np.float64]:
        """The spans of the steps that count."""
        return np.array(self._spans)[WARM_UP : WARM_UP + STEPS]

    @property
    def seconds(self) -> NDArray[np.float64]:
        """The durations of the counted calls."""
        return np.diff(self.counted)[:, 0]


def run_config() -> RunConfig:
    """Return the micro preset, longer, evaluated only before and after."""
    config = preset("grpo-micro").config
    changes = {
        "grpo": config["grpo"] | {"max_steps": WARM_UP + STEPS + 1},
        "evaluation": config["evaluation"] | {"every": 0},
    }
    return RunConfig.from_json(config | changes)


def train_in(folder: Path) -> None:
    """Train one run, as `python -m workers.train` would do it. Its log is a file, as an agent would create it."""
    config = run_config()
    loaded, task = models.load(config.model, needs_transformers=True), tasks.make(config.task)
    evaluator = Evaluator(loaded, task, config.evaluation, config.max_new_tokens)
    with RecordWriter(folder, 0) as records, (folder / "log.txt").open("w") as log, redirect_stdout(log):
        train(Context(config, folder, records, loaded, task, evaluator))


def main() -> int:
    """Train, record, and return the exit code."""
    torch.set_num_threads(1)
    begins, ends, logs = (Calls(RecordsCallback, name) for name in ("on_step_begin", "on_step_end", "on_log"))
    rewards = Calls(Rewards, "__call__")
    with tempfile.TemporaryDirectory() as folder:
        train_in(Path(folder))
    steps = ends.counted[:, 0] - begins.counted[:, 1]
    ours = begins.seconds + ends.seconds + logs.seconds
    share = ours.sum() / (steps + ours).sum()
    results.without_goal("a step", 1e3 * steps.mean(), "ms")
    results.without_goal("callback and writer in a step", 1e6 * ours.mean(), "µs")
    results.without_goal("callback and writer in the slowest step", 1e6 * ours.max(), "µs")
    results.without_goal("the task's reward function in a step, not counted", 1e6 * rewards.seconds.mean(), "µs")
    results.at_most("callback and writer, share of step time", 100 * share, GOAL_PERCENT, "%")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
