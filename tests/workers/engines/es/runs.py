"""Trainings of the micro model in the tests' own process, which tests can stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.workers.engines.es.population import own_copy
from workers import tasks
from workers.config import RunConfig
from workers.engines import es
from workers.engines.context import Context, latest_checkpoint
from workers.engines.stop import Stop
from workers.evaluation import Evaluator
from workers.models import Loaded
from workers.records import Metric, RecordWriter, next_epoch, read, records_path
from workers.tasks import Example, Score

SMALL = {
    "iterations": 3, "population": 6, "sigma": 0.05, "alpha": 0.05, "prompts": 4, "max_new_tokens": 10, "keep": "all",
}  # fmt: skip
"""All checkpoints stay, so that tests can compare them."""


class Conciseness:
    """The task of these runs, to be changed."""

    name = "changed"

    def __init__(self) -> None:
        self._real = tasks.make(RunConfig.from_json({"method": "es", "es": {}}).task)

    def examples(self, split: Any) -> Any:
        return self._real.examples(split)

    def score(self, example: Example, completion: str) -> Score:
        return self._real.score(example, completion)

    def wrong_answers(self, example: Example) -> Any:
        return self._real.wrong_answers(example)  # type: ignore[attr-defined]


class StopsAfter(Conciseness):
    """A task that stops the run after so many scored answers."""

    def __init__(self, answers: int) -> None:
        super().__init__()
        self.stop = Stop()
        self._left = answers

    def score(self, example: Example, completion: str) -> Score:
        self._left -= 1
        if self._left == 0:
            self.stop.set()
        return super().score(example, completion)


def run(
    micro: Loaded,
    directory: Path,
    task: Any = None,
    stop: Stop | None = None,
    resume: Path | None = None,
    nodes: int = 1,
    gpus: Any = 0,
    **es_options: Any,
) -> Any:
    """Train in `directory`, resuming from its latest checkpoint. Return the model."""
    plan = {"every": 2, "prompts": 2, "samples": 1, "responses": False}
    sections = {"es": SMALL | es_options, "evaluation": plan, "compute": {"nodes": nodes, "gpus": gpus}}
    config = RunConfig.from_json({"method": "es", "seed": 3, **sections})
    task = task or tasks.make(config.task)
    loaded = own_copy(micro)
    evaluator = Evaluator(loaded, task, config.evaluation, config.max_new_tokens)
    with RecordWriter(directory, next_epoch(directory)) as records:
        resume = resume or latest_checkpoint(directory)
        context = Context(config, directory, records, loaded, task, evaluator, stop or Stop(), resume)
        es.train(context)
    return loaded.model


def records_of(directory: Path, kind: Any, epoch: int = 0) -> list[Any]:
    piece = read(records_path(directory, epoch), limit=10**8)
    return [line.record for line in piece.lines if isinstance(line.record, kind)]


def learning(directory: Path) -> list[dict[str, float]]:
    """The training stream without what depends on the clock or on the number of engines."""
    metrics = [m for m in records_of(directory, Metric) if "train/reward/mean" in m.values]
    depends = ("time/", "es/update_bytes", "es/tokens_per_second")
    return [{k: v for k, v in m.values.items() if not k.startswith(depends)} | m.axes for m in metrics]
