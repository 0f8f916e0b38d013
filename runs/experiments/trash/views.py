"""The bin: what was deleted, by whom, how long it can still be restored."""

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
EXPERIMENTS_SHOWN = 60


@dataclass(frozen=True)
class Thrown:
    """Something in the bin. `days` are left to restore it."""

    thing: Experiment | Run

    @property
    def days(self) -> int:
        end = (self.thing.deleted_at or timezone.now()) + timedelta(days=trash.DAYS_IN_BIN)
        return max(0, (end - timezone.now()).days)


@require_safe
def bin(request: SignedIn) -> HttpResponse:
    """Experiments, and runs of experiments that are not in it themselves."""
    runs = _runs(request.user).select_related("experiment", "deleted_by").order_by("-deleted_at", "-pk")
    page = page_of(request, runs, RUNS_A_PAGE)
    experiments = _experiments(request.user)
    context = {
        "experiments": experiments[:EXPERIMENTS_SHOWN], "thrown": len(experiments), "page": page,
        "days": trash.DAYS_IN_BIN, "runs": [Thrown(run) for run in page],
    }  # fmt: skip
    return TemplateResponse(request, "experiments/trash.html", context)


@require_POST
def run_restore(request: SignedIn, uid: str) -> HttpResponse:
    """Takes a run out of the bin."""
    found = get_object_or_404(_runs(request.user).select_related("experiment"), uid=uid)
    restore(found)
    messages.success(request, gettext("Restored %(name)s.") % {"name": found.name})
    return redirect(found)


def _experiments(person: User) -> list[Thrown]:
    found = Experiment.objects.permitted_to(person).filter(deleted_at__isnull=False)
    rows = found.select_related("deleted_by", "owner").order_by("-deleted_at", "-pk")
    return [Thrown(experiment) for experiment in rows if may_change(person, experiment)]


def _runs(person: User) -> QuerySet[Run]:
    """Runs that lie in the bin by themselves, and that this person may change."""
    found = Run.objects.permitted_to(person).filter(deleted_at__isnull=False, experiment__deleted_at__isnull=True)
    return changeable(person, found)
