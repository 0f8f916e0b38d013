"""API schemas of tournaments and verdicts."""

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
    """A new contestant: a run's greedy responses at a step on a split."""

    run: Annotated[str, Field(pattern=r"^[2-9a-z]{10}$")]
    step: Pk
    split: Split = "eval"


class NewTournament(Input):
    """A tournament to create: `criteria` by their slugs, each by its newest rubric.

    `picks`: how a voter's next pair is chosen, balanced or telling. One pair in `gold_every` is from `gold_set`, if
    that is given: GET /api/v1/gold-sets lists them.
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
    """The new state of a tournament: whether it takes votes from now on."""

    state: State


class ContestantOut(Schema):
    """A contestant, which is rated.

    `run` is null if only judgments were imported, if the run was deleted, or if you may not see it.
    """

    name: str
    run: str | None
    step: int | None
    split: str


class CriterionOut(Schema):
    """A criterion of a tournament. `name` is its name in files and in `criterion` of addresses."""

    name: str
    rubric: str
    digest: str


class TournamentOut(Schema):
    """A tournament. `imported`: whether it contains judgments from files."""

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
    def fields_of_row(cls, row: Tournament) -> dict[str, Any]:
        """Return the fields of the reply. The row must have the annotation `imported`."""
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
    """A tournament with its contestants, criteria and settings.

    `judged` of `pairs` have as many voters as they need (`overlap`). `identical` further pairs have two equal responses
    and are shown to nobody. Only the owner and admins get the gold settings and the invitations; others get the seed
    once it is closed.
    """

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
    """A verdict on a pair.

    `outcome` is a, b, tie, both_bad, skip, or what a judge did instead of judging: unparsed, refused, error. `first`:
    who was shown first, "" if that is not known. `preference`: a's share of a soft preference, or null. `by`: a judge,
    or "person 3".
    """

    id: int
    criterion: str
    prompt: str
    a: str
    b: str
    outcome: str
    first: str
    score_a: float | None
    score_b: float | None
    preference: float | None
    by: str
    is_person: bool
    sample: int
    is_blind: bool
    at: datetime


class VerdictsOut(Schema):
    """A page of verdicts, in the order in which they were given."""

    items: list[VerdictOut]
    next: int | None
