"""A judgment: one line of a file of them, whatever format it came in; and many of them as votes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from judging.stats.votes.arrays import Floats, Ints, Votes
from judging.stats.votes.outcomes import Outcome, of_scores

Said = TypeVar("Said", str, tuple[str, ...])
TIE_THRESHOLD = 0.5
"""As published: scores that differ by no more are a tie."""


@dataclass(frozen=True)
class Judgment:
    """Of two answers to one prompt, `model_a`'s shown first unless `order_known` is False.

    scores: what the judge gave a and b, None where it gave none. verdict: what it said outright, which goes before what
    its scores say; None where it only scored. categories: of the prompt. lengths: of both answers, in any one unit.
    also: contestants that take part, though nobody judged them by this criterion; one judgment of a criterion says so
    for all. sample: how many judgments of the same by the same judge came before it; files say it so that none of them
    is taken for a duplicate.
    """

    model_a: str
    model_b: str
    criterion: str
    prompt: str
    annotator: str = ""
    scores: tuple[float, float] | None = None
    verdict: Outcome | None = None
    order_known: bool = True
    categories: tuple[str, ...] = ()
    lengths: tuple[float, float] | None = None
    is_person: bool = False
    also: tuple[str, ...] = ()
    sample: int = 0

    def outcome(self, tie_threshold: float) -> Outcome:
        """What came out. A judgment without verdict and scores was not understood, which is no tie."""
        if self.verdict is not None:
            return self.verdict
        return of_scores(*self.scores, tie_threshold) if self.scores else Outcome.UNPARSED


def criteria(judgments: Iterable[Judgment]) -> tuple[str, ...]:
    """The criteria that were judged, in the order of their first judgment."""
    return tuple(dict.fromkeys(one.criterion for one in judgments))


def votes_of(judgments: Sequence[Judgment], criterion: str, tie_threshold: float = TIE_THRESHOLD) -> Votes:
    """The votes of one criterion, in their order. Contestants are in the order of the alphabet, so that a board does
    not depend on which came first. Raises ValueError for a criterion that nobody judged."""
    chosen = [one for one in judgments if one.criterion == criterion]
    if not chosen:
        known = ", ".join(map(repr, criteria(judgments))) or "none"
        raise ValueError(f"no judgment is of {criterion!r}; the criteria are {known}")
    contestants = tuple(sorted({name for one in chosen for name in (one.model_a, one.model_b, *one.also)}))
    number = {name: k for k, name in enumerate(contestants)}
    prompts, prompt = _numbered([one.prompt for one in chosen])
    annotators, annotator = _numbered([one.annotator for one in chosen])
    kinds, kind = _numbered([one.categories for one in chosen])
    return Votes(
        contestants,
        np.array([number[one.model_a] for one in chosen]),
        np.array([number[one.model_b] for one in chosen]),
        np.array([one.outcome(tie_threshold) for one in chosen], np.int64),
        prompts, prompt, annotators, annotator,
        np.array([int(one.order_known) for one in chosen]),
        np.ones(len(chosen)), kinds, kind,
        {"length": lengths_apart(np.array([one.lengths or (np.nan, np.nan) for one in chosen]))},
    )  # fmt: skip


def _numbered(names: Sequence[Said]) -> tuple[tuple[Said, ...], Ints]:
    numbers = {name: k for k, name in enumerate(dict.fromkeys(names))}
    return tuple(numbers), np.array([numbers[name] for name in names])


def lengths_apart(pairs: Floats) -> Floats:
    """(a - b) / (a + b) of each pair's lengths, as style control does; NaN where a length is not known.

    pairs: float64[n, 2]. Returns float64[n].
    """
    total, share = pairs.sum(axis=1), np.zeros(len(pairs))
    np.divide(pairs[:, 0] - pairs[:, 1], total, out=share, where=total != 0)
    return share
