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
MISSING = (Outcome.UNPARSED, Outcome.REFUSED, Outcome.ERROR)
"""Outcomes that ratings do not use; they are counted separately."""


def outcome_of_scores(score_a: float, score_b: float, tie_threshold: float) -> Outcome:
    """Return the outcome of two scores of one judge: a tie if they differ by no more than the threshold."""
    if abs(score_a - score_b) <= tie_threshold:
        return Outcome.TIE
    return Outcome.A if score_a > score_b else Outcome.B
