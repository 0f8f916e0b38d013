"""Views of a run's checkpoints: saved ones, rebuilt ones, and any other step, to be rebuilt from the run's log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect

from runs import checkpoints
from runs.access import may_rebuild
from runs.http import SignedIn, visible_run, whole_number
from runs.launching.rebuilds.commands import (
    MAX_REBUILDS_PER_RUN,
    CannotRebuild,
    CheckpointUnavailable,
    checkpoint_at,
    is_ready,
    open_checkpoint,
    rebuild_checkpoint,
    rebuild_refusal,
    stop_rebuild,
)
from runs.models import Rebuild, Run


@dataclass(frozen=True)
class Entry:
    """Checkpoint as the page lists it."""

    step: int
    where: str
    bytes: int | None
    sha256: str
    is_here: bool
    cluster: str = ""
    """Cluster that has the checkpoint on its own disk, from which it is copied over SSH; empty if there is none."""
    rebuild: Rebuild | None = None
    can_be_rebuilt: bool = False
    """It was deleted, and the run's replay log rebuilds it."""


@require_GET
def run_checkpoint(request: SignedIn, uid: str, step: int) -> HttpResponseBase:
    """Send a checkpoint as a tar file, from this disk, or over SSH from its cluster's own."""
    run = visible_run(request, uid)
    try:
        archive = open_checkpoint(run, step)
    except CheckpointUnavailable as error:
        messages.error(request, f"{error}")
        return redirect("run-checkpoints", uid)
    if archive is None:
        raise Http404(f"There is no checkpoint of step {step}.")
    return checkpoints.send(*archive)


@require_POST
def run_rebuild_stop(request: SignedIn, uid: str, step: int) -> HttpResponse:
    """Stop the job that rebuilds a checkpoint."""
    run = visible_run(request, uid)
    if not may_rebuild(request.user, run):
        raise PermissionDenied
    stop_rebuild(get_object_or_404(run.rebuilds.select_related("run", "cluster"), step=step))
    return redirect("run-checkpoints", uid)


def checkpoints_context(request: SignedIn, run: Run) -> dict[str, Any]:
    """Return the template context of the list: its checkpoints, and what the form for another step needs."""
    return {
        "checkpoints": _entries(run),
        "last_step": run.reached_step(),
        "only_saved": rebuild_refusal(run),
        "may_rebuild": may_rebuild(request.user, run),
        "kept_rebuilds": MAX_REBUILDS_PER_RUN,
    }


def request_checkpoint(request: SignedIn, run: Run) -> str | HttpResponse:
    """Request the checkpoint of the step in the form. Return a redirect to its download if it is here.

    Otherwise begin its rebuild and return an empty text, or return why there can be no such checkpoint.
    """
    typed = request.POST.get("step", "").strip()
    if (step := whole_number(typed)) is None:
        message = gettext("step must be a whole number from 0 to %(last)s, not %(typed)r.")
        return message % {"last": run.reached_step(), "typed": typed[:40]}
    if checkpoints.at_step(run, step) is not None or checkpoint_at(run, step) is not None:
        address = reverse("run-checkpoint", args=[run.uid, step])
        return HttpResponseClientRedirect(address) if request.htmx else redirect(address)
    if not may_rebuild(request.user, run):
        raise PermissionDenied
    try:
        rebuild_checkpoint(run, step, request.user)
    except CannotRebuild as error:
        return f"{error}"
    return ""


def _entries(run: Run) -> list[Entry]:
    """Return one entry a step, including checkpoints that are gone.

    Requested rebuilds come first, then saved checkpoints; each group is sorted by step, the last one first.
    """
    here = checkpoints.by_step(run)
    can_be_rebuilt = not rebuild_refusal(run) and checkpoints.is_replayed(run)
    entries: dict[int, Entry] = {}
    for row in run.checkpoint_set.select_related("attempt__cluster").order_by("attempt__n", "epoch", "seq"):
        where = row.path if run.kind.is_reported else f"{row.attempt.key}/{row.path}"
        cluster = row.attempt.cluster
        remote_cluster = cluster.name if cluster is not None and cluster.is_remote else ""
        is_here = row.step in here
        entries[row.step] = Entry(
            row.step, where, row.bytes, row.sha256, is_here, remote_cluster, None, can_be_rebuilt and not is_here
        )
    for step, saved in here.items():
        entries.setdefault(
            step, Entry(step, f"{saved.folder.parent.parent.name}/checkpoints/{saved.folder.name}", None, "", True)
        )
    for rebuild in run.rebuilds.select_related("run"):
        if rebuild.step not in here:
            ready = is_ready(rebuild)
            entries[rebuild.step] = Entry(
                rebuild.step, gettext("rebuilt"), rebuild.bytes, rebuild.sha256, ready, "", rebuild
            )
    return sorted(entries.values(), key=lambda entry: (entry.rebuild is None, -entry.step))
