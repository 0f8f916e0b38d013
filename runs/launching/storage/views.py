"""Views of disk space: a list of runs by what they take, and the deletion of parts of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet, Sum
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.defaultfilters import filesizeformat
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from runs import access
from runs.http import SignedIn, page_of, visible_run
from runs.launching.storage.commands import CannotFree, free, free_refusal
from runs.launching.storage.inventory import IRREPLACEABLE, Part, stored_weights
from runs.models import DiskUse, Run

RUNS_A_PAGE = 50


@dataclass(frozen=True)
class FreeablePart:
    """A part of a run's files as the form offers it. `steps`: those of its checkpoints."""

    part: Part
    bytes: int
    steps: list[int]

    @property
    def is_irreplaceable(self) -> bool:
        """Return whether nothing can rebuild it."""
        return self.part in IRREPLACEABLE


@require_safe
def storage(request: SignedIn) -> HttpResponse:
    """Show what the runs take that the user may change, the largest first."""
    uses = measured_uses(request)
    sums = uses.aggregate(total=Sum("total_bytes"), rebuildable=Sum("rebuildable_bytes"))
    context = {"page": page_of(request, uses, RUNS_A_PAGE), **sums}
    return TemplateResponse(request, "launching/storage.html", context)


@require_POST
def run_free(request: SignedIn, uid: str) -> HttpResponse:
    """Delete the chosen parts of a run's weights. What nothing rebuilds also needs the box `sure`."""
    run = visible_run(request, uid)
    if not access.may_change_run(request.user, run):
        raise PermissionDenied
    parts = {Part(name) for name in request.POST.getlist("part") if name in Part.values}
    if not parts:
        messages.error(request, gettext("Choose what to delete."))
    elif parts & IRREPLACEABLE and not request.POST.get("sure"):
        messages.error(request, gettext("Nothing was deleted: confirm that it cannot be rebuilt."))
    else:
        try:
            freed = free(run, request.user, parts)
        except (CannotFree, OSError) as error:
            messages.error(request, f"{error}")
        else:
            messages.success(request, gettext("Deleted %(size)s.") % {"size": filesizeformat(freed.bytes)})
            for refusal in freed.refusals:
                messages.warning(request, refusal)
    return redirect("run-checkpoints", uid)


def measured_uses(request: SignedIn) -> QuerySet[DiskUse]:
    """Return the measured disk space of the runs that the user may change, the largest first."""
    runs = access.changeable(request.user, Run.objects.visible_to(request.user))
    return DiskUse.objects.filter(run__in=runs).select_related("run__experiment").order_by("-total_bytes", "-pk")


def storage_context(request: SignedIn, run: Run) -> dict[str, Any]:
    """Return the template context of a run's disk space: its last measurement and, for a user who may delete something,
    the parts."""
    may_free = access.may_change_run(request.user, run)
    refusal = free_refusal(run) if may_free else ""
    parts = _parts(run) if may_free and not refusal else []
    return {
        "disk_use": DiskUse.objects.filter(run=run).first(), "free_refusal": refusal, "freeable": parts,
        "has_irreplaceable": any(part.is_irreplaceable for part in parts),
    }  # fmt: skip


def _parts(run: Run) -> list[FreeablePart]:
    stored = stored_weights(run)
    groups = {part: [weights for weights in stored if weights.part == part] for part in Part}
    return [
        FreeablePart(part, sum(weights.bytes for weights in group), sorted({weights.step for weights in group}))
        for part, group in groups.items()
        if group
    ]
