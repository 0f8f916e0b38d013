"""Settings of method evaluate: weights and tasks. Prompts and samples are set in the section evaluation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from workers.config.decode import Problem
from workers.config.fields import Bounds, Resource, Shape
from workers.config.tasks import EMBEDDED, SafetyOptions, TaskConfig

DEFAULT_TOKENS = 128
"""Longest response of a model without a run, in tokens, if the config names no other."""
STEPS = Shape(r"(\d{1,9}(\s*,\s*\d{1,9})*)?", "empty, or steps separated by commas, such as 0, 50, 100")


@dataclass(frozen=True)
class EvaluateConfig:
    """Evaluation of weights without training: those of model.path, or of several steps of a run."""

    run: Annotated[str, Resource("run")] = ""
    """Run with the steps to evaluate: run:<uid>, or the folder of its attempts if you start by hand. Steps of an ES run
    are rebuilt from its replay log; of other runs, saved checkpoints are read. Empty evaluates model.path alone."""
    steps: Annotated[str, STEPS] = ""
    """Steps of that run; empty selects `points` steps, spread evenly over the run, 0 and the last included."""
    points: Annotated[int, Bounds(at_least=1, at_most=10_000)] = 20
    """Number of steps that are selected if `steps` is empty; 1 selects the last."""
    base: Annotated[str, Resource("score_model")] = ""
    """Model that the KL is measured against; empty means the base model of `run`. For model.path alone, empty means
    that no KL is measured."""
    prior_tasks: tuple[TaskConfig, ...] = ()
    """Further tasks to evaluate on, such as [{"name": "countdown"}], to see what a model has forgotten. Their values
    are recorded as prior/<task>/…. Any task but own; safety only with the embedded scorer."""
    correct: Literal["auto", "right", "contains", "exact", "safe", "reward"] = "auto"
    """Definition of a correct response, for pass@k. right: its answer is right. contains, exact: it holds the expected
    answer, or equals it. Each is a part of the task's score, above 0. safe: the cost is at most 0. reward: the reward
    is at least `correct_reward`. auto: right, else contains, exact, safe, reward, the first that the task gives."""
    correct_reward: Annotated[float, Bounds(at_least=-1e9, at_most=1e9)] = 1.0
    """Lowest reward of a correct response, if the reward decides."""

    def problems(self) -> Iterator[Problem]:
        if not self.run and self.steps:
            yield Problem("steps", "needs a run: set evaluate.run to run:<uid>, or leave steps empty")
        for number, task in enumerate(self.prior_tasks):
            if task.name == "own":
                yield Problem(f"prior_tasks.{number}.name", "cannot be own: set your own task as task, alone")
            elif isinstance(task.options, SafetyOptions) and task.options.scorer != EMBEDDED:
                yield Problem(f"prior_tasks.{number}.options.scorer", f"must be {EMBEDDED} in a prior task")
        names = [task.name for task in self.prior_tasks]
        for number, name in enumerate(names):
            if name in names[:number]:
                yield Problem(f"prior_tasks.{number}.name", f"repeats {name}, which may be named once")

    def listed_steps(self) -> list[int]:
        """Return the steps that are listed, each once, in ascending order; empty if none are."""
        return sorted({int(number) for number in re.findall(r"\d+", self.steps)})
