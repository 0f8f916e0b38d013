"""The interface of every score model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

Role: TypeAlias = Literal["reward", "cost"]


class BadModel(Exception):
    """A model that cannot be used here. The message gives the reason and the models that can be used."""


@dataclass(frozen=True)
class ModelOptions:
    """Options of a score model. `label` names one of a classifier's labels, if it has several."""

    role: Role
    name: str = "tiny"
    label: str = ""
    max_length: int = 2048
    device: Literal["auto", "cpu", "cuda"] = "auto"
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"


@dataclass(frozen=True)
class ScoreBatch:
    """One number for each text, and the number of texts that were too long for the model to see whole."""

    values: list[float]
    truncated: int = 0


class ScoreModel(Protocol):
    """A model that scores conversations. It is not safe to call from two threads at the same time."""

    name: str
    device: str

    def scores(self, texts: Sequence[str]) -> ScoreBatch:
        """Return one number for each text, in order, independent of the other texts but for rounding."""
