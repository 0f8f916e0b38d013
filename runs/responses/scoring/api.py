"""API of scorings: a registered scorer scores responses of a run afterwards. Its scores come with the responses."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import Http404
from ninja import Schema
from ninja.errors import HttpError
from pydantic import BeforeValidator, Field, StringConstraints

from runs import access
from runs.http import (
    ApiRequest,
    Input,
    Invalid,
    Output,
    RowId,
    RunUid,
    Uid,
    Username,
    Word,
    get_run,
    idempotent,
    needs,
    router,
)
from runs.models import Run, Scoring
from runs.responses.scoring.commands import CannotScore, begin, cancel, resume
from runs.responses.scoring.scorers import choices
from runs.service_registry import NAME
from workers.config import Problem

MAX_SCORINGS = 500


class NewScoring(Input):
    """Scoring to begin: the scorer's name, and the step and split of the responses to score. If omitted: all steps, and
    all splits except train, the completions of a training."""

    scorer: Annotated[str, StringConstraints(pattern=NAME)]
    step: Annotated[int, Field(ge=-(2**63), le=2**63 - 1)] | None = None
    split: Word | None = None


class ScoringOut(Output):
    """Scoring of a run's responses: `state` is going, done, failed or cancelled.

    `done` of `total` responses are scored; `reason` explains why it waits or failed.
    """

    id: int
    run: RunUid
    scorer: str
    step: int | None
    split: Annotated[str | None, BeforeValidator(lambda split: split or None)]
    person: Username = Field(validation_alias="asked_by")
    state: str
    done: int
    total: int
    reason: str
    started_at: datetime
    ended_at: datetime | None


class ScoringsOut(Schema):
    """Scorings of a run, the newest first; at most 500. `scorers` can score the run now."""

    scorers: list[str]
    items: list[ScoringOut]


EXAMPLE: dict[str, Any] = {"scorer": "beaver", "split": "eval"}


@router.get(
    "/runs/{uid}/scorings", response=ScoringsOut, auth=needs("read"), tags=["scorings"], summary="List scorings"
)
def list_scorings(request: ApiRequest, uid: Uid) -> ScoringsOut:
    """List the scorings of a run with their progress, and the scorers that can score it now."""
    run = get_run(request.auth, uid)
    scorings = run.scorings.select_related("run", "asked_by").order_by("-pk")[:MAX_SCORINGS]
    return ScoringsOut(
        scorers=choices(request.auth.person, run), items=[ScoringOut.from_row(scoring) for scoring in scorings]
    )


@router.post(
    "/runs/{uid}/scorings",
    response={202: ScoringOut},
    auth=needs("launch"),
    tags=["scorings"],
    summary="Score responses",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
@idempotent
def begin_scoring(request: ApiRequest, uid: Uid, new: NewScoring) -> tuple[int, ScoringOut]:
    """Score the responses of a run that this scorer has not scored yet.

    Needs scope launch, and that you created the run or own its experiment. The reply is 409 if there is nothing to
    score, or if this scorer is already scoring the run.
    """
    run = _changeable_run(request, uid)
    try:
        scoring = begin(run, request.auth.person, new.scorer, new.step, new.split or "")
    except CannotScore as error:
        raise _refusal(error) from error
    return 202, ScoringOut.from_row(scoring)


@router.post(
    "/runs/{uid}/scorings/{id}/cancel",
    response={202: ScoringOut},
    auth=needs("launch"),
    tags=["scorings"],
    summary="Cancel a scoring",
)
def cancel_scoring(request: ApiRequest, uid: Uid, id: RowId) -> tuple[int, ScoringOut]:
    """Cancel a scoring; its scores stay. A finished scoring does not change.

    Needs the same rights as starting one.
    """
    scoring = _find_scoring(_changeable_run(request, uid), id)
    cancel(scoring)
    scoring.refresh_from_db()
    return 202, ScoringOut.from_row(scoring)


@router.post(
    "/runs/{uid}/scorings/{id}/resume",
    response={202: ScoringOut},
    auth=needs("launch"),
    tags=["scorings"],
    summary="Resume a scoring",
)
def resume_scoring(request: ApiRequest, uid: Uid, id: RowId) -> tuple[int, ScoringOut]:
    """Resume a scoring that failed or was cancelled. The reply is 409 for any other.

    Needs the same rights as starting one.
    """
    scoring = _find_scoring(_changeable_run(request, uid), id)
    try:
        return 202, ScoringOut.from_row(resume(scoring))
    except CannotScore as error:
        raise _refusal(error) from error


def _changeable_run(request: ApiRequest, uid: str) -> Run:
    run = get_run(request.auth, uid)
    if not access.may_change_run(request.auth.person, run):
        raise HttpError(403, "Only the creator of a run and the owner of its experiment may score its responses")
    return run


def _find_scoring(run: Run, pk: int) -> Scoring:
    scoring = run.scorings.select_related("run", "asked_by").filter(pk=pk).first()
    if scoring is None:
        raise Http404(f"Run {run.uid} has no scoring {pk}")
    return scoring


def _refusal(error: CannotScore) -> Exception:
    return Invalid(Problem(error.field, str(error))) if error.field else HttpError(409, str(error))
