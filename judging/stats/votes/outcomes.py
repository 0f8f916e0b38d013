"""Outcomes of a comparison. Only four of them are about the responses; the others are never ties."""

from __future__ import annotations

from enum import IntEnum


class Outcome(IntEnum):
    """Outcome of one vote, from a's side. UNPARSED, REFUSED and ERROR mean that the judge gave no verdict."""

    A = 0
    B = 1
    TIE = 2
    BOTH_BAD = 3
    UNPARSED = 4
    REFUSED = 5
    ERROR = 6


COUNTED = (Outcome.A, Outcome.B, Outcome.TIE, Outcome.BOTH_BAD)
"""Outcomes that ratings use."""
SUM_TOLERANCE = 1e-6
"""Probabilities in files are rounded, so their sum is not exactly 1."""
MISSING = (Outcome.UNPARSED, Outcome.REFUSED, Outcome.ERROR)
"""Outcomes that ratings do not use; they are counted separately."""


def outcome_of_preference(share: float) -> Outcome:
    """Return the outcome of a preference of which `share`, from 0 to 1, is for a."""
    return Outcome.TIE if share == 0.5 else Outcome.A if share > 0.5 else Outcome.B


def soft_share(share: float) -> float | None:
    """Return a share that says more than its outcome; None if it is wholly for one response, or half for each."""
    return None if share in (0.0, 0.5, 1.0) else share


def preference_of_scores(score_a: float, score_b: float) -> float | None:
    """Return a's share if the scores are the probabilities of either response to be better; None for other scores.

    Probabilities are from 0 to 1 and add up to 1.
    """
    are_shares = min(score_a, score_b) >= 0 and abs(score_a + score_b - 1) <= SUM_TOLERANCE
    return min(score_a, 1.0) if are_shares else None


def outcome_of_scores(score_a: float, score_b: float, tie_threshold: float) -> Outcome:
    """Return the outcome of two scores of one judge: a tie if they differ by no more than the threshold."""
    if abs(score_a - score_b) <= tie_threshold:
        return Outcome.TIE
    return Outcome.A if score_a > score_b else Outcome.B
