"""Votes as arrays: who met whom, what came out, on which prompt, by whom, and which answer was shown first."""

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
    """`n` votes of one criterion, in the order of their source. Everything is an array of n.

    a, b: int64, numbers of contestants. outcome: int64, an Outcome each. prompt, annotator: int64, numbers into the
    names beside them; votes on one prompt are not independent. shown_first: int64, 1 where a stood first, -1 where b
    did, 0 where that is not known. weight: float64, 1 but for two games that count as one. kind: int64 into `kinds`,
    the categories of each vote's prompt: several, which overlap, or none. features: what is known of each pair of
    answers, such as `length`, NaN where it is not.
    Raises ValueError naming the first vote that does not fit.
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

    def __post_init__(self) -> None:
        if not self.kind.size:
            object.__setattr__(self, "kind", np.zeros(len(self.a), np.int64))
        columns = {name: getattr(self, name) for name in (*INDICES, "outcome", "shown_first", "weight")}
        for name, column in (columns | dict(self.features)).items():
            if column.shape != (len(self.a),):
                raise ValueError(f"{name} holds {len(column)} values for {len(self.a)} votes")
        for name, names in INDICES.items():
            _within(name, getattr(self, name), len(getattr(self, names)))
        _within("outcome", self.outcome, len(Outcome))
        _none("is between a contestant and itself", self.a == self.b)
        _none("has a shown_first that is none of 1, 0, -1", abs(self.shown_first) > 1)
        _none("has a weight that is not above zero", ~((self.weight > 0) & np.isfinite(self.weight)))

    def __len__(self) -> int:
        return len(self.a)

    def where(self, chosen: Bools | Ints) -> Votes:
        """The chosen ones, by mask or by number; names keep their numbers."""
        return replace(
            self, a=self.a[chosen], b=self.b[chosen], outcome=self.outcome[chosen], prompt=self.prompt[chosen],
            annotator=self.annotator[chosen], shown_first=self.shown_first[chosen], weight=self.weight[chosen],
            kind=self.kind[chosen], features={name: column[chosen] for name, column in self.features.items()},
        )  # fmt: skip

    @property
    def counted(self) -> Votes:
        """Those that say something about the answers: no judge failed."""
        return self.where(np.isin(self.outcome, COUNTED))

    @property
    def score(self) -> Floats:
        """What a got: 1 for a win, 0 for a loss, a half for a tie of either kind. float64[n], of counted votes."""
        return np.array([1.0, 0.0, 0.5, 0.5])[self.outcome]

    def among(self, chosen: Sequence[int]) -> Votes:
        """The votes between the chosen contestants alone, who are numbered anew in the order given."""
        number = np.full(len(self.contestants), -1)
        number[list(chosen)] = np.arange(len(chosen))
        kept = self.where((number[self.a] >= 0) & (number[self.b] >= 0))
        names = tuple(self.contestants[k] for k in chosen)
        return replace(kept, contestants=names, a=number[kept.a], b=number[kept.b])

    def number(self, outcome: Outcome) -> int:
        """How many votes came out so."""
        return int((self.outcome == outcome).sum())

    @property
    def categories(self) -> dict[str, Bools]:
        """category -> which votes' prompts have it, for each that any has; under an empty name, those that have none.
        bool[n] each; they overlap."""
        named = dict.fromkeys(name for kind in self.kinds for name in kind)
        found = {name: np.array([name in kind for kind in self.kinds], np.bool_)[self.kind] for name in named}
        found[""] = np.array([not kind for kind in self.kinds], np.bool_)[self.kind]
        return {name: mask for name, mask in found.items() if mask.any()}

    def by_category(self) -> dict[str, Votes]:
        """The votes of each of these."""
        return {name: self.where(mask) for name, mask in self.categories.items()}


def votes(
    contestants: tuple[str, ...],
    a: Ints,
    b: Ints,
    outcome: Ints,
    prompt: Ints | None = None,
    annotator: Ints | None = None,
    shown_first: Ints | None = None,
) -> Votes:
    """Votes from numbers alone: each on a prompt of its own, by one annotator, a shown first, where nothing else is
    said."""
    n = len(a)
    prompt = np.arange(n) if prompt is None else np.asarray(prompt)
    annotator = np.zeros(n, np.int64) if annotator is None else np.asarray(annotator)
    return Votes(
        contestants, np.asarray(a, np.int64), np.asarray(b, np.int64), np.asarray(outcome, np.int64),
        _numbered(prompt), prompt, _numbered(annotator), annotator,
        np.ones(n, np.int64) if shown_first is None else np.asarray(shown_first, np.int64), np.ones(n),
    )  # fmt: skip


def _numbered(numbers: Ints) -> tuple[str, ...]:
    return tuple(map(str, range(int(numbers.max(initial=-1)) + 1)))


def _within(name: str, numbers: Ints, count: int) -> None:
    _none(f"has as its {name} none of the {count} there are", (numbers < 0) | (numbers >= count))


def _none(what: str, wrong: Bools) -> None:
    if wrong.any():
        raise ValueError(f"vote {int(wrong.argmax()) + 1} {what}")
