"""What every task is: examples of a split, and a score for a completion."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from workers.records.categories import NAME_AT_MOST, is_name

Split: TypeAlias = Literal["train", "eval"]
COST = "cost"
"""The part of a score that holds a cost C, where a task has one; above 0 is unsafe."""


class BadData(ValueError):
    """A file of the user's that a task cannot use. The message names the place and what must be there."""


@dataclass(frozen=True)
class Example:
    """A conversation for the model to answer. `messages` are {"role", "content"}; `id` is the same in every run.

    `categories`: what it is about, for people and boards; no part of what is asked or scored.
    """

    id: str
    messages: tuple[dict[str, str], ...]
    target: str
    categories: tuple[str, ...] = ()


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


def category_problem(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    """What is wrong with the categories that a row says under these keys; empty where nothing is.

    For files whose every key is known: what is no category there is a mistake, and not somebody else's field.
    """
    for key in keys:
        said = row.get(key)
        names = said if isinstance(said, list) else [said]
        if said is not None and not all(is_name(name) for name in names):
            seen = repr(said)[:80]
            return f"{key} must be a text of 1 to {NAME_AT_MOST} characters, or a list of them, and is {seen}"
    return ""
