"""Answers that are scored afterwards, as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field, StringConstraints

from runs.api.shapes.services import NAME
from runs.api.shapes.words import Input, Word
from runs.models import Scoring


class NewScoring(Input):
    """Which scorer is asked, by its name; of which step and split, or of all."""

    scorer: Annotated[str, StringConstraints(pattern=NAME)]
    step: Annotated[int, Field(ge=-(2**63), le=2**63 - 1)] | None = None
    split: Word | None = None


class ScoringOut(Schema):
    """A scoring: `state` is going, done, failed or cancelled. `done` of `total` answers are scored; `reason` says why
    it waits, or failed."""

    id: int
    run: str
    scorer: str
    step: int | None
    split: str | None
    person: str
    state: str
    done: int
    total: int
    reason: str
    started_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, scoring: Scoring) -> ScoringOut:
        """The scoring as JSON."""
        names = ("scorer", "step", "state", "done", "total", "reason", "started_at", "ended_at")
        same = {name: getattr(scoring, name) for name in names}
        person = scoring.asked_by.get_username()
        return cls(id=scoring.pk, run=scoring.run.uid, person=person, split=scoring.split or None, **same)


class ScoringsOut(Schema):
    """Scorings of a run, the newest first; at most 500. `scorers` can be asked now."""

    scorers: list[str]
    items: list[ScoringOut]
