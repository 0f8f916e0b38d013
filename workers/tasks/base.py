"""What every task is: examples of a split, and a score for a completion."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

Split: TypeAlias = Literal["train", "eval"]
COST = "cost"
"""The part of a score that holds a cost C, where a task has one; above 0 is unsafe."""


class BadData(ValueError):
    """A file of the user's that a task cannot use. The message names the place and what must be there."""


@dataclass(frozen=True)
class Example:
    """A conversation for the model to answer. `messages` are {"role", "content"}; `id` is the same in every run."""

    id: str
    messages: tuple[dict[str, str], ...]
    target: str


@dataclass(frozen=True)
class Score:
    """How good an answer is. `reward` is what training raises; `parts` are for people (accuracy, length, ...)."""

    reward: float
    parts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """Why a completion has no score: a sentence, and the traceback or whatever else tells where it happened."""

    reason: str
    details: str = ""


class Task(Protocol):
    """A source of examples and the judge of their answers. Any text is a legal answer, the empty one too."""

    @property
    def name(self) -> str:
        """The name a config calls it by."""

    def examples(self, split: Split) -> Sequence[Example]:
        """All examples of a split, always in the same order."""

    def score(self, example: Example, completion: str) -> Score:
        """Judges the completion alone, without its prompt."""


def example_id(*text: str) -> str:
    """A short name that depends on the content alone, so that runs on the same questions can be set side by side."""
    return hashlib.sha256("\x1f".join(text).encode()).hexdigest()[:12]
