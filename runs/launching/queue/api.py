"""API of the queue: read the queue of all clusters; hold, release and move runs."""

from __future__ import annotations

from datetime import datetime

from django.http import Http404
from ninja import P, QueryEx, Schema
from ninja.errors import HttpError

from runs import access
from runs.http import ApiRequest, Input, Uid, Word, get_run, needs, router
from runs.launching.queue.commands import CannotMove, hold_run, move_run, release_run
from runs.launching.queue.queries import Entry, entry_of, order_attempts, queued_attempts
from runs.launching.schemas import RunOut, run_out
from runs.models import Cluster, Run

MOVE_EXAMPLE = {"cluster": "local"}
MAX_ENTRIES = 500


class NewPlace(Input):
    """Cluster to which a run is to move, by its name."""

    cluster: Word


class EntryOut(Schema):
    """Attempt that runs or waits.

    `reason` is the cluster's reason or ours, and `explained` is what it means. `held`: a user holds the attempt.
    `position` is its position in the queue of this machine, null on other clusters. `gpus` and `cores` are those of
    each of its `nodes`; `total_gpus` and `total_cores` those of all. The GPUs of a run that shares one are its share of
    it; 1 with `auto` until the share is planned. `gpu_memory_mb` is what it may take of that GPU, 0 without a limit.
    """

    run: str
    name: str
    experiment: int
    sweep: int | None
    person: str
    attempt: str
    cluster: str
    state: str
    is_going: bool
    since: datetime
    reason: str
    explained: str
    held: bool
    position: int | None
    nodes: int
    gpus: int | float
    gpu_memory_mb: int
    cores: int
    total_gpus: int | float
    total_cores: int

    @classmethod
    def from_entry(cls, entry: Entry) -> EntryOut:
        """Return the entry as JSON."""
        run, attempt, resources = entry.run, entry.attempt, entry.resources
        return cls(
            run=run.uid, name=run.name, experiment=run.experiment_id, sweep=run.sweep_id,
            person=run.created_by.get_username(), attempt=attempt.key, cluster=str(attempt.cluster),
            state=attempt.state, is_going=entry.is_going, since=entry.since, reason=attempt.reason,
            explained=entry.explained, held=entry.is_held, position=entry.position, nodes=resources.nodes,
            gpus=resources.node_gpus, gpu_memory_mb=resources.gpu_memory_mb, cores=resources.cores,
            total_gpus=resources.all_gpus, total_cores=resources.all_cores,
        )  # fmt: skip


class QueueOut(Schema):
    """Queue: runs that are running, the newest first, then runs that wait, the oldest first.

    `going` and `waiting` count all running and all waiting runs.
    """

    going: int
    waiting: int
    items: list[EntryOut]


@router.get("/queue", response=QueueOut, auth=needs("read"), tags=["queue"], summary="Read the queue")
def read_queue(
    request: ApiRequest,
    cluster: Word | None = None,
    mine: QueryEx[bool, P(description="only runs that you launched")] = False,
) -> QueueOut:
    """List the running and the waiting runs that you may see: where each is, who made it, since when and why it waits.

    At most 500 running and 500 waiting runs are listed. `cluster`, a cluster's name, limits the list to that cluster.
    """
    if cluster is not None and not Cluster.objects.filter(name=cluster).exists():
        names = ", ".join(Cluster.objects.order_by("name").values_list("name", flat=True))
        raise Http404(f"Unknown cluster {cluster!r}; the clusters are {names}")
    runs = Run.objects.visible_to(request.auth.person)
    attempts = queued_attempts(runs.filter(created_by=request.auth.person) if mine else runs, cluster or "")
    going, waiting = order_attempts(attempts, going=True), order_attempts(attempts, going=False)
    items = [EntryOut.from_entry(entry_of(attempt)) for attempt in (*going[:MAX_ENTRIES], *waiting[:MAX_ENTRIES])]
    return QueueOut(going=going.count(), waiting=waiting.count(), items=items)


@router.post("/runs/{uid}/hold", response={202: RunOut}, auth=needs("launch"), tags=["queue"], summary="Hold a run")
def hold(request: ApiRequest, uid: Uid) -> tuple[int, RunOut]:
    """Hold a waiting run back from its cluster until it is released.

    A run in the cluster's own queue is taken out of it. Needs scope launch, and that you made the run or own its
    experiment. The reply is 409 if the run does not wait.
    """
    run = _own_run(request, uid)
    try:
        hold_run(run, request.auth.person)
    except CannotMove as error:
        raise HttpError(409, str(error)) from error
    return 202, _refreshed_run(request, run)


@router.post(
    "/runs/{uid}/release", response={202: RunOut}, auth=needs("launch"), tags=["queue"], summary="Release a run"
)
def release(request: ApiRequest, uid: Uid) -> tuple[int, RunOut]:
    """Release a held run to its cluster.

    Needs scope launch, and that you made the run or own its experiment. The reply is 409 if the run is not held.
    """
    run = _own_run(request, uid)
    try:
        release_run(run, request.auth.person)
    except CannotMove as error:
        raise HttpError(409, str(error)) from error
    return 202, _refreshed_run(request, run)


@router.post(
    "/runs/{uid}/move",
    response={202: RunOut},
    auth=needs("launch"),
    tags=["queue"],
    summary="Move a run",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": MOVE_EXAMPLE}}}},
)
def move(request: ApiRequest, uid: Uid, place: NewPlace) -> tuple[int, RunOut]:
    """Move a waiting run to another cluster.

    It is cancelled on its present cluster, and its next attempt is made on the other one once that is certain. Needs
    scope launch, and that you made the run or own its experiment. The reply is 409 if the run does not wait or is on
    that cluster already, and 422 if there is no such cluster.
    """
    run = _own_run(request, uid)
    try:
        move_run(run, place.cluster, request.auth.person)
    except CannotMove as error:
        raise HttpError(409, str(error)) from error
    return 202, _refreshed_run(request, run)


def _own_run(request: ApiRequest, uid: str) -> Run:
    run = get_run(request.auth, uid)
    if not access.may_cancel(request.auth.person, run):
        raise HttpError(
            403, "Only the user who launched a run, or the owner of its experiment, may hold, release or move it"
        )
    return run


def _refreshed_run(request: ApiRequest, run: Run) -> RunOut:
    return run_out(get_run(request.auth, run.uid))
