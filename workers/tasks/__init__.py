"""What a model is taught: prompts and a reward, one file a task. `make` builds the one a config names. No torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workers.config import TaskConfig
from workers.tasks.base import Example, Score, Task
from workers.tasks.conciseness import Conciseness
from workers.tasks.question_file import BadQuestions
from workers.tasks.safely import RewardFailed, score_safely

TASKS: Mapping[str, Callable[[Any], Task]] = {"conciseness": Conciseness}


def make(config: TaskConfig) -> Task:
    """The task a config names, its data read. Raises BadQuestions where a file of the user's cannot be used."""
    return TASKS[config.name](config.options)


__all__ = ["TASKS", "BadQuestions", "Example", "RewardFailed", "Score", "Task", "make", "score_safely"]
