"""Page of the trash: the deleted objects, their deleters, and the time left to restore each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from runs.access import changeable, may_change
from runs.experiments.trash.commands import restore
from runs.http import SignedIn, page_of
from runs.models import Experiment, Run, trash

RUNS_A_PAGE = 60
MAX_EXPERIMENTS = 60


@dataclass(frozen=True)
class TrashEntry:
    """A deleted experiment or run. `days` are left to restore it."""

    target: Experiment | Run

    @property
    def days(self) -> int:
        end = (self.target.deleted_at or timezone.now()) + timedelta(days=trash.DAYS_IN_BIN)
        return max(0, (end - timezone.now()).days)


@require_safe
def trash_page(request: SignedIn) -> HttpResponse:
    """Show deleted experiments, and deleted runs of experiments that are not deleted."""
    runs = _runs(request.user).select_related("experiment", "deleted_by").order_by("-deleted_at", "-pk")
    page = page_of(request, runs, RUNS_A_PAGE)
    experiments = _experiments(request.user)
    context = {
        "experiments": experiments[:MAX_EXPERIMENTS], "thrown": len(experiments), "page": page,
        "days": trash.DAYS_IN_BIN, "runs": [TrashEntry(run) for run in page],
    }  # fmt: skip
    return TemplateResponse(request, "experiments/trash.html", context)


@require_POST
def run_restore(request: SignedIn, uid: str) -> HttpResponse:
    """Restore a run from the trash."""
    run = get_object_or_404(_runs(request.user).select_related("experiment"), uid=uid)
    restore(run)
    messages.success(request, gettext("Restored %(name)s.") % {"name": run.name})
    return redirect(run)


def _experiments(person: User) -> list[TrashEntry]:
    experiments = Experiment.objects.permitted_to(person).filter(deleted_at__isnull=False)
    rows = experiments.select_related("deleted_by", "owner").order_by("-deleted_at", "-pk")
    return [TrashEntry(experiment) for experiment in rows if may_change(person, experiment)]


def _runs(person: User) -> QuerySet[Run]:
    """Return the runs that were deleted alone, not with their experiment, and that this user may change."""
    runs = Run.objects.permitted_to(person).filter(deleted_at__isnull=False, experiment__deleted_at__isnull=True)
    return changeable(person, runs)
