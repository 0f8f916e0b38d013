"""API schemas of tournaments and verdicts."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from django.db import models
from django.utils.translation import override
from ninja import Schema
from pydantic import Field, StringConstraints

from judging.judge_runs.schemas import AssignmentOut
from judging.models.limits import limits
from judging.models.tournament_settings import SECRETS, TournamentSettings
from judging.voting.api import InvitationOut
from runs.http import NO_NUL, Input, Output, Pk, Text, Username, Word, with_fields

Split = Annotated[str, Field(max_length=20, pattern=r"^[^\x00]*$")]
State = Literal["open", "paused", "closed"]
FIELDS = TournamentSettings._meta.local_fields


def _request_type(field: models.Field[Any, Any]) -> Any:
    """Return the type of a setting in a request, with its choices and bounds."""
    if field.choices:
        return Literal[tuple(value for value, _ in field.choices)]
    if isinstance(field, models.ForeignKey):
        return Pk | None
    if isinstance(field, models.IntegerField):
        bounds = limits(field)
        return Annotated[int, Field(ge=bounds.get("min_value"), le=bounds.get("max_value"))]
    if isinstance(field, models.CharField):
        least, most = int(not field.blank), field.max_length
        return Annotated[
            str, StringConstraints(strip_whitespace=True, min_length=least, max_length=most, pattern=NO_NUL)
        ]
    return {models.TextField: Text, models.BooleanField: bool}[type(field)]


def _request_field(field: models.Field[Any, Any]) -> tuple[Any, Any]:
    """Return type, default and description of a setting in a request."""
    default = field.get_default() if field.blank or field.has_default() else ...
    with override(None):
        return _request_type(field), Field(default, description=f"{field.verbose_name}. {field.help_text}".strip())


def _reply_field(field: models.Field[Any, Any]) -> tuple[Any, Any]:
    """Return the type of a setting in a reply, which is required; a secret may be null."""
    kinds = {int: models.IntegerField | models.ForeignKey, bool: models.BooleanField,
             str: models.CharField | models.TextField}  # fmt: skip
    kind = next(kind for kind, classes in kinds.items() if isinstance(field, classes))
    return (kind | None if field.name in SECRETS else kind), ...


class EntryIn(Input):
    """A new contestant: a run's greedy responses at a step on a split."""

    run: Annotated[str, Field(pattern=r"^[2-9a-z]{10}$")]
    step: Pk
    split: Split = "eval"


@with_fields({field.name: _request_field(field) for field in FIELDS})
class NewTournament(Input):
    """A tournament to create: `criteria` by their slugs, each by its newest rubric. GET /api/v1/gold-sets lists the
    gold sets."""

    contestants: Annotated[list[EntryIn], Field(min_length=2, max_length=20)]
    criteria: Annotated[list[Word], Field(min_length=1, max_length=20)]
    prompts: Annotated[int, Field(ge=1, le=50_000)] = 50


class ChangedTournament(Input):
    """The new state of a tournament: whether it takes votes from now on."""

    state: State


class ContestantOut(Output):
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


class TournamentOut(Output):
    """A tournament. `imported`: whether it contains judgments from files."""

    id: int
    name: str
    question: str
    owner: Username
    is_private: bool
    state: State
    imported: bool
    created_at: datetime
    url: str = Field(validation_alias="get_absolute_url")


class TournamentsOut(Schema):
    """A page of tournaments; `next` is the cursor of the next one."""

    items: list[TournamentOut]
    next: int | None


@with_fields({field.name: _reply_field(field) for field in FIELDS})
class TournamentDetail(TournamentOut):
    """A tournament with its contestants, criteria and settings.

    `judged` of `pairs` have as many voters as they need (`overlap`). `identical` further pairs have two equal responses
    and are shown to nobody. Only the owner and admins get the gold settings and the invitations; others get the seed
    once it is closed.
    """

    contestants: list[ContestantOut]
    criteria: list[CriterionOut]
    prompts: int
    pairs: int
    identical: int
    judged: int
    verdicts: int
    assignments: list[AssignmentOut]
    invitations: list[InvitationOut] | None


class VerdictOut(Output):
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
