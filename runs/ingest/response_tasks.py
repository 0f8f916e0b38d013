"""The task that a stored response belongs to, which decides how its answer is read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from runs.metrics import task_of
from runs.models.experiment import config_section


class TaskNames:
    """The tasks of a run, from its config: its own, and those that an evaluation tests for what the model forgot."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.own = task_of(config)
        listed = config_section(config, "evaluate").get("prior_tasks")
        prior = [task for task in listed if isinstance(task, Mapping)] if isinstance(listed, list) else []
        self.prior = frozenset(str(task.get("name")) for task in prior)

    def of_prompt(self, categories: Collection[str]) -> str:
        """Return the name of the task of a prompt: a prior task is one of its categories; empty if none is known."""
        return next((name for name in categories if name in self.prior), self.own)
