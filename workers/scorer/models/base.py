"""What every score model is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

Role: TypeAlias = Literal["reward", "cost"]


class BadModel(Exception):
    """A model that cannot be used here. The message says why, and what can."""


@dataclass(frozen=True)
class Wanted:
    """Which model, and how it is to run. `label` names one of a classifier's where it has several."""

    role: Role
    name: str = "tiny"
    label: str = ""
    max_length: int = 2048
    device: Literal["auto", "cpu", "cuda"] = "auto"
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"


@dataclass(frozen=True)
class Scored:
    """One number for each text, and how many texts were too long for the model to see whole."""

    values: list[float]
    truncated: int = 0


class ScoreModel(Protocol):
    """Scores conversations. Not safe to call from two threads at once."""

    name: str
    device: str

    def scores(self, texts: Sequence[str]) -> Scored:
        """One for each text, in order, whatever is asked beside it but for rounding."""
