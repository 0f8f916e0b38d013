"""The interface of every task: examples of a split, and a score for a completion."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from workers.records.categories import MAX_NAME_LENGTH, is_name

Split: TypeAlias = Literal["train", "eval"]
COST = "cost"
"""The part of a score that holds a cost C, if the task has one; above 0 is unsafe."""


class BadData(ValueError):
    """A file of the user's that a task cannot use. The message names the location and the expected content."""


@dataclass(frozen=True)
class Example:
    """A conversation for the model to answer. `messages` are {"role", "content"}; `id` is the same in every run.

    `categories`: its topics, for users and leaderboards; no part of the prompt or the score.
    """

    id: str
    messages: tuple[dict[str, str], ...]
    target: str
    categories: tuple[str, ...] = ()


@dataclass(frozen=True)
class Score:
    """The score of an answer. `reward` is the number that training raises; `parts` are for users (accuracy, length,
    ...)."""

    reward: float
    parts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """The reason why a completion has no score: a sentence, and the traceback or other details of the place."""

    reason: str
    details: str = ""


class Task(Protocol):
    """A source of examples and of scores for their answers. Any text is a legal answer, the empty one too."""

    @property
    def name(self) -> str:
        """The task's name in a config."""

    def examples(self, split: Split) -> Sequence[Example]:
        """Return all examples of a split, always in the same order."""

    def score(self, example: Example, completion: str) -> Score:
        """Score the completion alone, without its prompt."""


def example_id(*text: str) -> str:
    """Return a short id that depends on the content alone, so that runs on the same questions can be compared."""
    return hashlib.sha256("\x1f".join(text).encode()).hexdigest()[:12]


def category_problem(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    """Return the mistake in the categories that a row has under these keys; empty if there is none.

    For files whose keys are all known: an invalid category there is a mistake, and not another field.
    """
    for key in keys:
        value = row.get(key)
        names = value if isinstance(value, list) else [value]
        if value is not None and not all(is_name(name) for name in names):
            quoted = repr(value)[:80]
            return f"{key} must be a text of 1 to {MAX_NAME_LENGTH} characters, or a list of them, but is {quoted}"
    return ""
