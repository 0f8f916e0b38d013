"""Votes as arrays: contestants, outcome, prompt, annotator, and the response shown first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from judging.stats.votes.outcomes import COUNTED, Outcome

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
INDICES = {
    "a": "contestants",
    "b": "contestants",
    "prompt": "prompts",
    "annotator": "annotators",
    "kind": "kinds",
}


@dataclass(frozen=True)
class Votes:
    """`n` votes of one criterion, in the order of their source. Each array has n entries.

    a, b: int64, numbers of contestants. outcome: int64, an Outcome each. prompt, annotator: int64, indices into
    `prompts` and `annotators`; votes on one prompt are not independent. shown_first: int64, 1 if a was in first
    position, -1 if b was, 0 if that is not known. weight: float64, 1 except for two games that count as one. kind:
    int64, indices into `kinds`, the categories of each vote's prompt: several, which overlap, or none. features:
    float64, facts about each pair of responses, such as `length`, NaN if not known. preference: float64, a's share of a
    soft preference, from 0 to 1, as a judge's probability is; NaN if the outcome says everything. Raise ValueError,
    naming the first invalid vote.
    """

    contestants: tuple[str, ...]
    a: Ints
    b: Ints
    outcome: Ints
    prompts: tuple[str, ...]
    prompt: Ints
    annotators: tuple[str, ...]
    annotator: Ints
    shown_first: Ints
    weight: Floats
    kinds: tuple[tuple[str, ...], ...] = ((),)
    kind: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    features: Mapping[str, Floats] = field(default_factory=dict)
    preference: Floats = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        if not self.kind.size:
            object.__setattr__(self, "kind", np.zeros(len(self.a), np.int64))
        if not self.preference.size:
            object.__setattr__(self, "preference", np.full(len(self.a), np.nan))
        columns = {name: getattr(self, name) for name in (*INDICES, "outcome", "shown_first", "weight", "preference")}
        for name, column in (columns | dict(self.features)).items():
            if column.shape != (len(self.a),):
                raise ValueError(f"{name} holds {len(column)} values for {len(self.a)} votes")
        for name, names in INDICES.items():
            _check_range(name, getattr(self, name), len(getattr(self, names)))
        _check_range("outcome", self.outcome, len(Outcome))
        _check_none("is between a contestant and itself", self.a == self.b)
        _check_none("has a shown_first that is none of 1, 0, -1", abs(self.shown_first) > 1)
        _check_none("has a preference that is not from 0 to 1", (self.preference < 0) | (self.preference > 1))
        _check_none("has a weight that is not above zero", ~((self.weight > 0) & np.isfinite(self.weight)))

    def __len__(self) -> int:
        return len(self.a)

    def select(self, selection: Bools | Ints) -> Votes:
        """Return the selected votes, by mask or by index. The numbers of names do not change."""
        return replace(
            self, a=self.a[selection], b=self.b[selection], outcome=self.outcome[selection],
            prompt=self.prompt[selection], annotator=self.annotator[selection],
            shown_first=self.shown_first[selection], weight=self.weight[selection],
            kind=self.kind[selection], features={name: column[selection] for name, column in self.features.items()},
            preference=self.preference[selection],
        )  # fmt: skip

    @property
    def counted(self) -> Votes:
        """Return the votes with a verdict on the responses, without failed judgments."""
        return self.select(np.isin(self.outcome, COUNTED))

    @property
    def score(self) -> Floats:
        """Return the score of a: its share of a soft preference, else 1 for a win, 0 for a loss, a half for a tie.

        float64[n], of counted votes.
        """
        return np.where(self.is_soft, self.preference, np.array([1.0, 0.0, 0.5, 0.5])[self.outcome])

    @property
    def is_soft(self) -> Bools:
        """Return whether each vote is a soft preference. bool[n]."""
        return np.isfinite(self.preference)

    def between_contestants(self, contestants: Sequence[int]) -> Votes:
        """Return the votes between these contestants alone, who are numbered again in the order given."""
        number = np.full(len(self.contestants), -1)
        number[list(contestants)] = np.arange(len(contestants))
        between = self.select((number[self.a] >= 0) & (number[self.b] >= 0))
        names = tuple(self.contestants[k] for k in contestants)
        return replace(between, contestants=names, a=number[between.a], b=number[between.b])

    def count_outcome(self, outcome: Outcome) -> int:
        """Return the number of votes with this outcome."""
        return int((self.outcome == outcome).sum())

    @property
    def categories(self) -> dict[str, Bools]:
        """Map each category that any prompt has to a mask of the votes on its prompts: bool[n]; masks overlap.

        An empty name stands for prompts without a category.
        """
        named = dict.fromkeys(name for kind in self.kinds for name in kind)
        masks = {name: np.array([name in kind for kind in self.kinds], np.bool_)[self.kind] for name in named}
        masks[""] = np.array([not kind for kind in self.kinds], np.bool_)[self.kind]
        return {name: mask for name, mask in masks.items() if mask.any()}

    def by_category(self) -> dict[str, Votes]:
        """Return the votes of each category."""
        return {name: self.select(mask) for name, mask in self.categories.items()}


def votes_from_arrays(
    contestants: tuple[str, ...],
    a: Ints,
    b: Ints,
    outcome: Ints,
    prompt: Ints | None = None,
    annotator: Ints | None = None,
    shown_first: Ints | None = None,
) -> Votes:
    """Create votes from numbers alone.

    By default, each vote is on its own prompt, all are by one annotator, and a is shown first.
    """
    n = len(a)
    prompt = np.arange(n) if prompt is None else np.asarray(prompt)
    annotator = np.zeros(n, np.int64) if annotator is None else np.asarray(annotator)
    return Votes(
        contestants, np.asarray(a, np.int64), np.asarray(b, np.int64), np.asarray(outcome, np.int64),
        _number_names(prompt), prompt, _number_names(annotator), annotator,
        np.ones(n, np.int64) if shown_first is None else np.asarray(shown_first, np.int64), np.ones(n),
    )  # fmt: skip


def _number_names(numbers: Ints) -> tuple[str, ...]:
    return tuple(map(str, range(int(numbers.max(initial=-1)) + 1)))


def _check_range(name: str, numbers: Ints, count: int) -> None:
    _check_none(f"has as its {name} none of the {count} there are", (numbers < 0) | (numbers >= count))


def _check_none(problem: str, wrong: Bools) -> None:
    if wrong.any():
        raise ValueError(f"vote {int(wrong.argmax()) + 1} {problem}")
