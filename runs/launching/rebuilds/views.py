"""The checkpoints of a run: those it has saved, those that were rebuilt, and any other, to be rebuilt from its log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from runs import checkpoints
from runs.access import may_rebuild
from runs.http import SignedIn, visible_run
from runs.launching.rebuilds.commands import (
    KEPT_A_RUN,
    CannotRebuild,
    NotThere,
    checkpoint_at,
    is_ready,
    last_step,
    open_checkpoint,
    rebuild_checkpoint,
    rebuild_refusal,
    stop_rebuild,
)
from runs.models import Rebuild, Run


@dataclass(frozen=True)
class Entry:
    """A checkpoint as the page lists it."""

    step: int
    where: str
    bytes: int | None
    sha256: str
    is_here: bool
    cluster: str = ""
    """Where it lies on the disk of a cluster, from which it comes over SSH."""
    rebuild: Rebuild | None = None


@require_http_methods(["GET", "HEAD", "POST"])
def run_checkpoints(request: SignedIn, uid: str) -> HttpResponse:
    """The list alone; a POST asks for the checkpoint of a step, which is downloaded at once where it is there."""
    run = visible_run(request, uid)
    why = _ask(request, run) if request.method == "POST" else ""
    if isinstance(why, HttpResponse):
        return why
    if request.method == "POST" and not request.htmx:
        if why:
            messages.error(request, why)
        return redirect(f"{run.get_absolute_url()}{'' if why else '#checkpoints'}")
    context = {"run": run, "refused": why, **checkpoints_context(request, run)}
    return TemplateResponse(request, "run_page/run.html#checkpoints", context)


@require_GET
def run_checkpoint(request: SignedIn, uid: str, step: int) -> HttpResponseBase:
    """A checkpoint as a tar file, from this disk, or over SSH from its cluster's own."""
    run = visible_run(request, uid)
    try:
        found = open_checkpoint(run, step)
    except NotThere as error:
        messages.error(request, f"{error}")
        return redirect(f"{run.get_absolute_url()}#checkpoints")
    if found is None:
        raise Http404(f"No checkpoint of step {step} is here.")
    return checkpoints.send(*found)


@require_POST
def run_rebuild_stop(request: SignedIn, uid: str, step: int) -> HttpResponse:
    """Ends the job that rebuilds a checkpoint."""
    run = visible_run(request, uid)
    if not may_rebuild(request.user, run):
        raise PermissionDenied
    stop_rebuild(get_object_or_404(run.rebuilds.select_related("run", "cluster"), step=step))
    return redirect(f"{run.get_absolute_url()}#checkpoints")


def checkpoints_context(request: SignedIn, run: Run) -> dict[str, Any]:
    """What the list shows, and the range of steps that can be asked for."""
    return {
        "checkpoints": _entries(run),
        "last_step": last_step(run),
        "only_saved": rebuild_refusal(run),
        "may_rebuild": may_rebuild(request.user, run),
        "kept_rebuilds": KEPT_A_RUN,
    }


def _ask(request: SignedIn, run: Run) -> str | HttpResponse:
    """A redirect to the download where the checkpoint is here; else why it cannot be had, or nothing once asked for."""
    typed = request.POST.get("step", "").strip()
    if not (typed.isascii() and typed.isdecimal() and len(typed) <= 18):
        said = gettext("step must be a whole number from 0 to %(last)s, not %(typed)r.")
        return said % {"last": last_step(run), "typed": typed[:40]}
    if checkpoints.at_step(run, step := int(typed)) is not None or checkpoint_at(run, step) is not None:
        there = reverse("run-checkpoint", args=[run.uid, step])
        return HttpResponseClientRedirect(there) if request.htmx else redirect(there)
    if not may_rebuild(request.user, run):
        raise PermissionDenied
    try:
        rebuild_checkpoint(run, step, request.user)
    except CannotRebuild as error:
        return f"{error}"
    return ""


def _entries(run: Run) -> list[Entry]:
    """One a step: first those asked for, then those saved, of each the last step first, also where they are gone."""
    here = checkpoints.by_step(run)
    found: dict[int, Entry] = {}
    for row in run.checkpoint_set.select_related("attempt__cluster").order_by("attempt__n", "epoch", "seq"):
        where = f"{row.attempt.key}/{row.path}"
        cluster = row.attempt.cluster
        far = cluster.name if cluster is not None and cluster.is_far else ""
        found[row.step] = Entry(row.step, where, row.bytes, row.sha256, row.step in here, far)
    for step, saved in here.items():
        found.setdefault(
            step, Entry(step, f"{saved.folder.parent.parent.name}/checkpoints/{saved.folder.name}", None, "", True)
        )
    for rebuild in run.rebuilds.select_related("run"):
        if rebuild.step not in here:
            ready = is_ready(rebuild)
            found[rebuild.step] = Entry(
                rebuild.step, gettext("rebuilt"), rebuild.bytes, rebuild.sha256, ready, "", rebuild
            )
    return sorted(found.values(), key=lambda entry: (entry.rebuild is None, -entry.step))
