"""Judgments, each one row of a file in any format, and their conversion to votes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from judging.stats.votes.arrays import Floats, Ints, Votes
from judging.stats.votes.outcomes import Outcome, outcome_of_preference, outcome_of_scores

Key = TypeVar("Key", str, tuple[str, ...])
TIE_THRESHOLD = 0.5
"""Published value: scores that differ by no more are a tie."""


@dataclass(frozen=True)
class Judgment:
    """Judgment of two responses to one prompt; `model_a`'s is shown first unless `order_known` is False.

    scores: the judge's scores of a and b, None if it gave none. verdict: the judge's explicit verdict, which has
    precedence over the scores; None if it only scored. preference: a's share of a soft preference, between 0 and 1;
    None if the verdict or the scores say everything. categories: of the prompt. lengths: of both responses, in any
    one unit. other_contestants: contestants that nobody judged by this criterion; one judgment of a criterion lists
    them for all. sample: the number of earlier judgments of the same pair by the same judge; files contain it so that
    no judgment is taken for a duplicate.
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
    other_contestants: tuple[str, ...] = ()
    sample: int = 0
    preference: float | None = None

    def outcome(self, tie_threshold: float) -> Outcome:
        """Return the outcome. A judgment without verdict and scores is UNPARSED, not a tie."""
        if self.verdict is not None:
            return self.verdict
        if self.preference is not None:
            return outcome_of_preference(self.preference)
        return outcome_of_scores(*self.scores, tie_threshold) if self.scores else Outcome.UNPARSED


def list_criteria(judgments: Iterable[Judgment]) -> tuple[str, ...]:
    """Return the criteria that were judged, in the order of their first judgment."""
    return tuple(dict.fromkeys(judgment.criterion for judgment in judgments))


def votes_by_criterion(judgments: Sequence[Judgment], criterion: str, tie_threshold: float = TIE_THRESHOLD) -> Votes:
    """Return the votes of one criterion, in their order.

    Contestants are in alphabetical order, so that a board does not depend on the order of judgments. Raise ValueError
    for a criterion without judgments.
    """
    selected = [judgment for judgment in judgments if judgment.criterion == criterion]
    if not selected:
        criteria_text = ", ".join(map(repr, list_criteria(judgments))) or "none"
        raise ValueError(f"the criterion must be one of {criteria_text}, not {criterion!r}")
    contestants = tuple(
        sorted(
            {
                name
                for judgment in selected
                for name in (judgment.model_a, judgment.model_b, *judgment.other_contestants)
            }
        )
    )
    number = {name: k for k, name in enumerate(contestants)}
    prompts, prompt = _number_names([judgment.prompt for judgment in selected])
    annotators, annotator = _number_names([judgment.annotator for judgment in selected])
    kinds, kind = _number_names([judgment.categories for judgment in selected])
    return Votes(
        contestants,
        np.array([number[judgment.model_a] for judgment in selected]),
        np.array([number[judgment.model_b] for judgment in selected]),
        np.array([judgment.outcome(tie_threshold) for judgment in selected], np.int64),
        prompts, prompt, annotators, annotator,
        np.array([int(judgment.order_known) for judgment in selected]),
        np.ones(len(selected)), kinds, kind,
        {"length": relative_length_difference(np.array([row.lengths or (np.nan, np.nan) for row in selected]))},
        np.array([np.nan if row.preference is None else row.preference for row in selected], np.float64),
    )  # fmt: skip


def _number_names(names: Sequence[Key]) -> tuple[tuple[Key, ...], Ints]:
    numbers = {name: k for k, name in enumerate(dict.fromkeys(names))}
    return tuple(numbers), np.array([numbers[name] for name in names])


def relative_length_difference(pairs: Floats) -> Floats:
    """Return (a - b) / (a + b) of each pair's lengths, as style control does; NaN if a length is not known.

    pairs: float64[n, 2]. Returns float64[n].
    """
    total, share = pairs.sum(axis=1), np.zeros(len(pairs))
    np.divide(pairs[:, 0] - pairs[:, 1], total, out=share, where=total != 0)
    return share
