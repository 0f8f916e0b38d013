"""What can come out of a comparison. Only four of these say anything about the answers; the others are never ties."""

from __future__ import annotations

from enum import IntEnum


class Outcome(IntEnum):
    """Of one vote, from a's side. UNPARSED, REFUSED and ERROR are what a judge did instead of judging."""

    A = 0
    B = 1
    TIE = 2
    BOTH_BAD = 3
    UNPARSED = 4
    REFUSED = 5
    ERROR = 6


COUNTED = (Outcome.A, Outcome.B, Outcome.TIE, Outcome.BOTH_BAD)
"""What ratings are made of."""
MISSING = (Outcome.UNPARSED, Outcome.REFUSED, Outcome.ERROR)
"""What they are not made of, counted apart."""


def of_scores(score_a: float, score_b: float, tie_threshold: float) -> Outcome:
    """The outcome that two scores of one judge stand for: a tie where they differ by no more than the threshold."""
    if abs(score_a - score_b) <= tie_threshold:
        return Outcome.TIE
    return Outcome.A if score_a > score_b else Outcome.B
