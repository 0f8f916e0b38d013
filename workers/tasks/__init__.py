"""What a model is taught: prompts and a reward, one file a task. `make` builds the one a config names. No torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workers.config import ConfigError, OwnOptions, Problem, TaskConfig
from workers.tasks.base import BadData, Example, Failure, Score, Task
from workers.tasks.conciseness import Conciseness
from workers.tasks.countdown import Countdown
from workers.tasks.own import Own
from workers.tasks.safely import Known, RewardFailed, score_key, score_new, score_safely
from workers.tasks.safety import Safety

TASKS: Mapping[str, Callable[[Any], Task]] = {
    "conciseness": Conciseness,
    "countdown": Countdown,
    "safety": Safety,
}
"""The tasks that the project brings along."""


def make(config: TaskConfig) -> Task:
    """The task a config names, its data read. Raises ConfigError where its files or the user's code cannot be used."""
    if isinstance(config.options, OwnOptions):
        return Own(config.options, config.reward_seconds)
    try:
        return TASKS[config.name](config.options)
    except BadData as error:
        raise ConfigError([Problem("task.options", str(error))]) from error


__all__ = [
    "TASKS",
    "BadData",
    "Example",
    "Failure",
    "Known",
    "RewardFailed",
    "Score",
    "Task",
    "make",
    "score_key",
    "score_new",
    "score_safely",
]
