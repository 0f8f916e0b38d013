"""What goes in and comes out of the API of judging, as JSON."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field

from judging.asking import Estimate, Standing
from judging.models import Assignment, Invitation, Judge, Rubric, Tournament
from runs.api.shapes.words import Input, Name, Pk, Text, Word

Cap = Annotated[Decimal, Field(ge=0, lt=10**8, max_digits=14, decimal_places=6)]
Invited = Annotated[str, Field(max_length=100, pattern=r"^[^\x00]*$")]
Split = Annotated[str, Field(max_length=20, pattern=r"^[^\x00]*$")]
State = Literal["open", "paused", "closed"]


class EntryIn(Input):
    """A contestant to be: a run's greedy answers at a step on a split."""

    run: Annotated[str, Field(pattern=r"^[2-9a-z]{10}$")]
    step: Pk
    split: Split = "eval"


class NewTournament(Input):
    """A tournament to make: `criteria` by their slugs, each by its newest rubric."""

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


class AssignmentOut(Schema):
    """A judge at work. Ends that are no verdicts are counted apart, and none is a tie. Amounts are in the judge's
    currency."""

    id: int
    judge: int
    judge_name: str
    state: str
    reason: str
    both_orders: bool
    planned: int
    done: int
    refused: int
    failed: int
    unparsed: int
    left: int
    spent: str
    cap: str

    @classmethod
    def of(cls, row: Assignment, standing: Standing) -> AssignmentOut:
        """As it stands."""
        counted = ("planned", "done", "refused", "failed", "unparsed", "left")
        counts = {name: getattr(standing, name) for name in counted}
        return cls(
            id=row.pk, judge=row.judge.pk, judge_name=row.judge.name, state=row.state, reason=row.reason,
            both_orders=row.both_orders, spent=f"{row.spent:f}", cap=f"{row.cap:f}", **counts,
        )  # fmt: skip


class InvitationOut(Schema):
    """A link that was sent to somebody; what it is was shown once."""

    id: int
    name: str
    expires_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None

    @classmethod
    def of(cls, row: Invitation) -> InvitationOut:
        """Without the link."""
        return cls(
            id=row.pk, name=row.name, expires_at=row.expires_at, revoked_at=row.revoked_at,
            last_used_at=row.last_used_at,
        )  # fmt: skip


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
    """With who and what takes part. `judged` of `pairs` have as many people's votes as they are to have; invitations
    are shown to its owner."""

    contestants: list[ContestantOut]
    criteria: list[CriterionOut]
    prompts: int
    pairs: int
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


class BoardOut(Schema):
    """A board as it was worked out `at`. `hash`: equal votes, asked alike, have equal hashes, here and from a file.
    `newer`: verdicts given since. `board`: standings with intervals, what to doubt, win matrix, agreement."""

    criterion: str
    asked: dict[str, Any]
    hash: str
    votes: int
    newer: int
    at: datetime
    board: dict[str, Any]


class NewOrder(Input):
    """A board to work out: whose verdicts (all, people, judges, judge-7), and how they become ratings."""

    criterion: Word = ""
    whose: Word = "all"
    category: Word = ""
    ties: Word = ""
    swap: Word = ""
    unit: Word = ""
    level: Annotated[float, Field(allow_inf_nan=False)] = 0.95
    anchor: Word = ""
    prior: Annotated[float, Field(allow_inf_nan=False)] = 0.0


class OrderedOut(Schema):
    """It is on the list: read the board after a while."""

    criterion: str
    asked: dict[str, Any]


class NewInvitations(Input):
    """Names, a link each, good for so many days."""

    names: Annotated[list[Invited], Field(min_length=1, max_length=50)]
    days: int = 30


class MadeInvitation(InvitationOut):
    """With the link, which is shown this once."""

    link: str


class MadeInvitations(Schema):
    """One link for each name."""

    items: list[MadeInvitation]


class JudgeOut(Schema):
    """A model that judges, or the rules that come with the site. `in_boards`: rubrics by which its newest calibration
    passes. No key is shown."""

    id: int
    name: str
    kind: str
    model: str
    base_url: str
    owner: str | None
    is_private: bool
    digest: str
    price_in: str
    price_out: str
    in_boards: list[str]

    @classmethod
    def of(cls, row: Judge, rubrics: list[str]) -> JudgeOut:
        """As anybody sees it who sees it."""
        return cls(
            id=row.pk, name=row.name, kind=row.kind, model=row.model, base_url=row.base_url,
            owner=row.owner.get_username() if row.owner else None, is_private=row.is_private, digest=row.digest,
            price_in=f"{row.price_in:f}", price_out=f"{row.price_out:f}", in_boards=rubrics,
        )  # fmt: skip


class JudgesOut(Schema):
    """A page of judges; `next` is the cursor of the next one."""

    items: list[JudgeOut]
    next: int | None


class NewAssignment(Input):
    """A judge to put to work by these criteria, by all where none is named. Without a `cap` nothing is asked, and the
    answer says what it would cost."""

    judge: Pk
    criteria: Annotated[list[Word], Field(max_length=20)] = Field(default_factory=list)
    both_orders: bool = True
    cap: Cap | None = None


class EstimateOut(Schema):
    """What it would cost: `likely`, and `at_most` where every answer is as long as it may be."""

    calls: int
    likely: str
    at_most: str

    @classmethod
    def of(cls, found: Estimate) -> EstimateOut:
        """In the judge's currency."""
        return cls(calls=found.calls, likely=f"{found.likely.amount:f}", at_most=f"{found.at_most:f}")


class ChangedAssignment(Input):
    """`again` goes on, and asks anew what gave no verdict. A `cap` goes with go-on and again."""

    do: Literal["pause", "cancel", "go-on", "again"]
    cap: Cap | None = None


class RubricOut(Schema):
    """The words that judges are told: never changed, so that its digest says all of it."""

    criterion: str
    version: int
    question: str
    text: str
    scale: tuple[int, int]
    digest: str

    @classmethod
    def of(cls, row: Rubric) -> RubricOut:
        """One version."""
        return cls(
            criterion=row.criterion.slug, version=row.version, question=row.question, text=row.text,
            scale=(row.scale_low, row.scale_high), digest=row.digest,
        )  # fmt: skip


class RubricsOut(Schema):
    """A page of rubrics; `next` is the cursor of the next one."""

    items: list[RubricOut]
    next: int | None


class NewJudgments(Input):
    """Where the judgments go: `into`, a tournament that you look after, by its id; else one of that name of yours that
    was imported before, or a new one. The first file's name where none is said."""

    into: Pk | None = None
    name: Annotated[str, Field(max_length=200, pattern=r"^[^\x00]*$")] = ""
    is_private: bool = False


class JudgmentsOfFile(Schema):
    """What became of a file. `alone`: judgments that name no prompt, each its own. `problems`: the first 100 of
    `not_read` rows, each with its line."""

    name: str
    read: int
    made: int
    changed: int
    alone: int
    not_read: int
    problems: list[str]


class BroughtOut(Schema):
    """What an import did. `tournament` is null where no file held a judgment; `is_new`: it was made for them."""

    said: str
    tournament: int | None
    is_new: bool
    files: list[JudgmentsOfFile]
