"""Reading attempts: the scheduler jobs of a run, and what happened to each."""

from __future__ import annotations

from django.http import Http404

from runs.api.auth import ApiRequest, needs
from runs.api.routes import router
from runs.api.seeing import Key, Uid, the_run
from runs.api.shapes import AttemptDetail, AttemptOut, AttemptsOut, EventOut
from runs.compare import ran_on
from runs.models import Attempt, Run


@router.get(
    "/runs/{uid}/attempts", response=AttemptsOut, auth=needs("read"), tags=["attempts"], summary="List attempts"
)
def list_attempts(request: ApiRequest, uid: Uid) -> AttemptsOut:
    """The attempts of a run, oldest first: a resume and a restart make one each."""
    attempts = the_run(request.auth, uid).attempts.order_by("n")
    return AttemptsOut(items=[AttemptOut.of(attempt) for attempt in attempts])


@router.get("/attempts/{key}", response=AttemptDetail, auth=needs("read"), tags=["attempts"], summary="Read an attempt")
def read_attempt(request: ApiRequest, key: Key) -> AttemptDetail:
    """An attempt with all that happened to it."""
    visible = Attempt.objects.filter(run__in=Run.objects.visible_to(request.auth.person))
    attempt = visible.select_related("run").filter(key=key).first()
    if attempt is None:
        raise Http404(f"There is no attempt {key} that you may see")
    events = [EventOut.from_orm(event) for event in attempt.events.order_by("at", "pk")]
    (ran,) = ran_on([attempt])
    told = {**ran.told, "packages": ran.packages} if ran.told else None
    shown: AttemptDetail = AttemptDetail.of(
        attempt, run=attempt.run.uid, events=events, code=attempt.code, environment=told
    )
    return shown
