"""Training tasks: prompts and a reward, one file a task. `make` builds the one a config names. No torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workers.config import ConfigError, OwnOptions, Problem, TaskConfig
from workers.tasks.base import BadData, Example, Failure, Score, Task
from workers.tasks.choice import Choice
from workers.tasks.conciseness import Conciseness
from workers.tasks.countdown import Countdown
from workers.tasks.mathematics import Mathematics
from workers.tasks.own import OwnTask
from workers.tasks.safety import Safety
from workers.tasks.scoring import RewardFailed, ScoreCache, score_key, score_new, score_safely

TASKS: Mapping[str, Callable[[Any], Task]] = {
    "conciseness": Conciseness,
    "countdown": Countdown,
    "math": Mathematics,
    "choice": Choice,
    "safety": Safety,
}
"""The tasks of the project itself."""


def make(config: TaskConfig) -> Task:
    """Build the task a config names, with its data read. Raise ConfigError if its files or the user's code cannot be
    used."""
    if isinstance(config.options, OwnOptions):
        return OwnTask(config.options, config.reward_seconds)
    try:
        return TASKS[config.name](config.options)
    except BadData as error:
        raise ConfigError([Problem("task.options", str(error))]) from error


__all__ = [
    "TASKS",
    "BadData",
    "Example",
    "Failure",
    "RewardFailed",
    "Score",
    "ScoreCache",
    "Task",
    "make",
    "score_key",
    "score_new",
    "score_safely",
]
