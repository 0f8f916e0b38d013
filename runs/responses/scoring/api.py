"""API of scorings: a registered scorer scores responses of a run afterwards. Its scores come with the responses."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import Http404
from ninja import Schema
from ninja.errors import HttpError
from pydantic import Field, StringConstraints

from runs import access
from runs.http import ApiRequest, Input, Invalid, RowId, Uid, Word, needs, once, router, the_run
from runs.models import Run, Scoring
from runs.responses.scoring.commands import CannotScore, begin, cancel, resume
from runs.responses.scoring.scorers import choices
from runs.service_registry import NAME
from workers.config import Problem

MOST = 500


class NewScoring(Input):
    """Scoring to begin: the scorer's name, and the step and split of the responses to score; all of them if omitted."""

    scorer: Annotated[str, StringConstraints(pattern=NAME)]
    step: Annotated[int, Field(ge=-(2**63), le=2**63 - 1)] | None = None
    split: Word | None = None


class ScoringOut(Schema):
    """Scoring of a run's responses: `state` is going, done, failed or cancelled.

    `done` of `total` responses are scored; `reason` explains why it waits or failed.
    """

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
        """Return the scoring as JSON."""
        names = ("scorer", "step", "state", "done", "total", "reason", "started_at", "ended_at")
        same = {name: getattr(scoring, name) for name in names}
        person = scoring.asked_by.get_username()
        return cls(id=scoring.pk, run=scoring.run.uid, person=person, split=scoring.split or None, **same)


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
    run = the_run(request.auth, uid)
    found = run.scorings.select_related("run", "asked_by").order_by("-pk")[:MOST]
    return ScoringsOut(scorers=choices(request.auth.person, run), items=[ScoringOut.of(one) for one in found])


@router.post(
    "/runs/{uid}/scorings",
    response={202: ScoringOut},
    auth=needs("launch"),
    tags=["scorings"],
    summary="Have answers scored",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
@once
def begin_scoring(request: ApiRequest, uid: Uid, new: NewScoring) -> tuple[int, ScoringOut]:
    """Have a scorer score the responses of a run that it has not scored.

    Needs scope launch, and that you made the run or own its experiment. The reply is 409 if there is nothing to score,
    or if this scorer is already scoring the run.
    """
    run = _mine(request, uid)
    try:
        made = begin(run, request.auth.person, new.scorer, new.step, new.split or "")
    except CannotScore as error:
        raise _refusal(error) from error
    return 202, ScoringOut.of(made)


@router.post(
    "/runs/{uid}/scorings/{id}/cancel",
    response={202: ScoringOut},
    auth=needs("launch"),
    tags=["scorings"],
    summary="Cancel a scoring",
)
def cancel_scoring(request: ApiRequest, uid: Uid, id: RowId) -> tuple[int, ScoringOut]:
    """Cancel a scoring; scores that it has given stay. A scoring that has ended stays as it is.

    Needs the same rights as beginning one.
    """
    found = _of(_mine(request, uid), id)
    cancel(found)
    found.refresh_from_db()
    return 202, ScoringOut.of(found)


@router.post(
    "/runs/{uid}/scorings/{id}/resume",
    response={202: ScoringOut},
    auth=needs("launch"),
    tags=["scorings"],
    summary="Resume a scoring",
)
def resume_scoring(request: ApiRequest, uid: Uid, id: RowId) -> tuple[int, ScoringOut]:
    """Resume a scoring that failed or was cancelled. The reply is 409 for any other.

    Needs the same rights as beginning one.
    """
    found = _of(_mine(request, uid), id)
    try:
        return 202, ScoringOut.of(resume(found))
    except CannotScore as error:
        raise _refusal(error) from error


def _mine(request: ApiRequest, uid: str) -> Run:
    run = the_run(request.auth, uid)
    if not access.may_change_run(request.auth.person, run):
        raise HttpError(403, "Only who made a run, or owns its experiment, may have its answers scored")
    return run


def _of(run: Run, pk: int) -> Scoring:
    found = run.scorings.select_related("run", "asked_by").filter(pk=pk).first()
    if found is None:
        raise Http404(f"Run {run.uid} has no scoring {pk}")
    return found


def _refusal(error: CannotScore) -> Exception:
    return Invalid(Problem(error.field, str(error))) if error.field else HttpError(409, str(error))
