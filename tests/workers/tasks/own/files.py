"""Files of tasks as users write them, in an allowed folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE_SECONDS
from workers.config import ConfigError, OwnOptions
from workers.tasks.own import OwnTask

GOOD = """
class Task:
    def __init__(self, options):
        self.options = options

    def examples(self, split):
        return [{"prompt": f"{split} {n}", "target": str(n), "n": n} for n in range(3)]

    def score(self, example, completion):
        return {"reward": len(completion) - example["n"], "exact": completion == example["target"]}
"""
HANDS = """
import os, signal, sys, time

class Task:
    def examples(self, split):
        return [{"prompt": split}]

    def score(self, example, completion):
        if completion:
            exec(completion, globals())
        return 1.5
"""
"""A task that executes the completion."""


def write(folder: Path, code: str, name: str = "my_task.py") -> Path:
    """Write the file of a task; return its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code, encoding="utf-8")
    return path


def own(path: str = "my_task:Task", seconds: float = PATIENCE_SECONDS, **options: Any) -> OwnTask:
    """Return the task with its process started."""
    return OwnTask(OwnOptions(path, options), seconds)


def refusal(path: str = "my_task:Task", seconds: float = PATIENCE_SECONDS, **options: Any) -> str:
    """Return the message with which an invalid task is refused."""
    try:
        own(path, seconds, **options).close()
    except ConfigError as error:
        return str(error)
    raise AssertionError("it was accepted")
