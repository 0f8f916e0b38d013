"""Tasks as users write them, in an allowed folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE_SECONDS
from workers.config import ConfigError, OwnOptions
from workers.tasks.own import Own

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
"""Does what the completion says."""


def write(folder: Path, code: str, name: str = "my_task.py") -> Path:
    """The file of a task."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code, encoding="utf-8")
    return path


def own(path: str = "my_task:Task", seconds: float = PATIENCE_SECONDS, **options: Any) -> Own:
    """The task, its process begun."""
    return Own(OwnOptions(path, options), seconds)


def refusal(path: str = "my_task:Task", seconds: float = PATIENCE_SECONDS, **options: Any) -> str:
    """What is said of a task that does not fit."""
    try:
        own(path, seconds, **options).close()
    except ConfigError as error:
        return str(error)
    raise AssertionError("it was accepted")
