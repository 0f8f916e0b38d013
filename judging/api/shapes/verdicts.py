"""What was said, as JSON."""

from __future__ import annotations

from datetime import datetime

from ninja import Schema


class VerdictOut(Schema):
    """What somebody said of a pair. `outcome` is a, b, tie, both_bad, skip, or what a judge did instead of judging:
    unparsed, refused, error. `first`: who stood first, "" where that is not known. `by`: a judge, or "person 3"."""

    id: int
    criterion: str
    prompt: str
    a: str
    b: str
    outcome: str
    first: str
    score_a: float | None
    score_b: float | None
    by: str
    is_person: bool
    sample: int
    is_blind: bool
    at: datetime


class VerdictsOut(Schema):
    """A page of verdicts, in the order in which they were given."""

    items: list[VerdictOut]
    next: int | None
