"""What the API says and takes of tournaments and of verdicts, as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field

from judging.judge_runs.schemas import AssignmentOut
from judging.models import Tournament
from judging.voting.api import InvitationOut
from runs.http import Input, Name, Pk, Text, Word

Split = Annotated[str, Field(max_length=20, pattern=r"^[^\x00]*$")]
Picks = Literal["balanced", "telling"]
State = Literal["open", "paused", "closed"]


class EntryIn(Input):
    """A contestant to be: a run's greedy answers at a step on a split."""

    run: Annotated[str, Field(pattern=r"^[2-9a-z]{10}$")]
    step: Pk
    split: Split = "eval"


class NewTournament(Input):
    """A tournament to make: `criteria` by their slugs, each by its newest rubric.

    `picks`: how a voter's next pair is chosen, balanced or telling. One pair in `gold_every` is one of `gold_set`,
    where that is given: GET /api/v1/gold-sets lists them.
    """

    name: Name
    question: Text = ""
    contestants: Annotated[list[EntryIn], Field(min_length=2, max_length=20)]
    criteria: Annotated[list[Word], Field(min_length=1, max_length=20)]
    prompts: Annotated[int, Field(ge=1, le=50_000)] = 50
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    overlap: Annotated[int, Field(ge=1, le=100)] = 1
    is_private: bool = False
    reveals: bool = True
    warns: bool = False
    picks: Picks = "balanced"
    gold_set: Pk | None = None
    gold_every: Annotated[int, Field(ge=2, le=1000)] = 15


class ChangedTournament(Input):
    """Whether it takes votes from now on."""

    state: State


class ContestantOut(Schema):
    """Who is rated. `run` is null where only judgments were imported, or it was deleted."""

    name: str
    run: str | None
    step: int | None
    split: str


class CriterionOut(Schema):
    """By what is judged: `name` is what files and `criterion` in addresses call it."""

    name: str
    rubric: str
    digest: str


class TournamentOut(Schema):
    """A tournament. `imported`: judgments of files are in it."""

    id: int
    name: str
    question: str
    owner: str
    is_private: bool
    state: State
    imported: bool
    created_at: datetime
    url: str

    @classmethod
    def said(cls, row: Tournament) -> dict[str, Any]:
        """Its fields; `imported` is annotated."""
        state = "closed" if row.closed_at else "paused" if row.paused_at else "open"
        return {
            "id": row.pk, "name": row.name, "question": row.question, "owner": row.owner.get_username(),
            "is_private": row.is_private, "state": state, "created_at": row.created_at,
            "imported": row.imported, "url": row.get_absolute_url(),  # type: ignore[attr-defined]
        }  # fmt: skip


class TournamentsOut(Schema):
    """A page of tournaments; `next` is the cursor of the next one."""

    items: list[TournamentOut]
    next: int | None


class TournamentDetail(TournamentOut):
    """With who and what takes part, and how it was made. `judged` of `pairs` have as many people's votes as they are to
    have (`overlap`); `identical` pairs more have twice the same answer, and nobody is asked about them. Gold and
    invitations are shown to its owner, the seed to others once it is closed."""

    contestants: list[ContestantOut]
    criteria: list[CriterionOut]
    seed: int | None
    overlap: int
    picks: str
    reveals: bool
    warns: bool
    gold_set: int | None
    gold_every: int | None
    prompts: int
    pairs: int
    identical: int
    judged: int
    verdicts: int
    assignments: list[AssignmentOut]
    invitations: list[InvitationOut] | None


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
