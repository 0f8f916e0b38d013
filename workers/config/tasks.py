"""What a model is taught, and each task's own options. The tasks themselves live in `workers/tasks`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from workers.config.knobs import Bounds, Shape, Tagged

MODULE_AND_ATTRIBUTE = Shape(
    r"[A-Za-z_]\w{0,99}(\.[A-Za-z_]\w{0,99}){0,9}:[A-Za-z_]\w{0,99}", "module:attribute, such as my_task:Task"
)


@dataclass(frozen=True)
class ConcisenessOptions:
    """Answer as briefly as the reference: R = −| len(answer) − len(reference) | in characters."""

    train_file: str = ""
    """JSONL with question and answer on each line; empty means the project's generated facts."""
    eval_file: str = ""
    """Held-out JSONL of the same kind; empty means generated facts that training never sees."""
    system_prompt: str = ""
    """A system message before each question; empty means the chat template's own."""


@dataclass(frozen=True)
class CountdownOptions:
    """Reach a target from given numbers, each exactly once: R = 0.1 · format + answer."""

    train_file: str = ""
    """JSON list of problems, as published: context, numbers, target. Empty means generated problems."""
    eval_file: str = ""
    """Held-out file of the same kind. The file that also trains: its first problems train, the others are held out."""
    train_problems: Annotated[int, Bounds(at_least=1)] = 200
    """How many problems train where one file serves both; the published split is 200."""


@dataclass(frozen=True)
class OwnOptions:
    """A task of your own: a class or function in a Python file that an administrator's folder holds."""

    path: Annotated[str, MODULE_AND_ATTRIBUTE]
    """Where it is: a file in a folder allowed for the cluster, and the class or function in it."""
    options: dict[str, Any] = field(default_factory=dict)
    """Whatever your task wants to be told; it gets this object as it stands."""


TASKS: Mapping[str, type] = {"conciseness": ConcisenessOptions, "countdown": CountdownOptions, "own": OwnOptions}


@dataclass(frozen=True)
class TaskConfig:
    """What the model is taught."""

    name: Literal["conciseness", "countdown", "own"] = "conciseness"
    """The task. own: one that you wrote."""
    options: Annotated[Any, Tagged("name", TASKS)] = field(default_factory=ConcisenessOptions)
    """The task's own options."""
    reward_seconds: Annotated[float, Bounds(above=0, at_most=3600)] = 10.0
    """Time limit of one reward of an own task. A reward that takes longer is tried once more, then the run fails."""
