"""All experiments: what each asks and how its runs stand; and a new one."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Page
from django.db.models import Count, Max, Q, QuerySet
from django.db.models.functions import Greatest
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from runs.access import may_make
from runs.forms import ExperimentForm
from runs.models import Experiment, Run
from runs.views.parameters import SignedIn, page_of

EXPERIMENTS_A_PAGE = 20


@require_http_methods(["GET", "HEAD", "POST"])
def experiments(request: SignedIn) -> HttpResponse:
    """The list; a POST makes a new experiment."""
    form = ExperimentForm(request.POST or None)
    if request.method == "POST" and not may_make(request.user):
        raise PermissionDenied
    if request.method == "POST" and form.is_valid():
        form.instance.owner = request.user
        experiment = form.save()
        messages.success(request, f"Made {experiment.name}. Launch its first run.")
        return redirect(experiment)
    asked = request.GET.get("q", "").strip()
    page = page_of(request, _listed(request, asked), EXPERIMENTS_A_PAGE)
    states = _states(page)
    context = {"form": form, "q": asked, "page": page, "entries": [(e, states[e.pk]) for e in page]}
    return TemplateResponse(request, "runs/experiments.html", context, status=400 if form.errors else 200)


def _listed(request: SignedIn, asked: str) -> QuerySet[Experiment]:
    moments = ("runs__created_at", "runs__attempts__ended_at", "runs__attempts__heartbeat_seen_at")
    active = Greatest("created_at", *(Max(moment) for moment in moments))
    found = Experiment.objects.visible_to(request.user).select_related("owner").annotate(active_at=active)
    for word in asked.split():
        found = found.filter(Q(name__icontains=word) | Q(question__icontains=word))
    return found.order_by("-active_at", "-pk")


def _states(page: Page[Experiment]) -> dict[int, list[tuple[str, int]]]:
    """experiment id -> (state, runs in it)."""
    counted = Run.objects.filter(experiment__in=[e.pk for e in page]).values_list("experiment_id", "state")
    out: dict[int, list[tuple[str, int]]] = {e.pk: [] for e in page}
    for experiment_id, state, n in counted.annotate(n=Count("pk")).order_by("experiment_id", "state"):
        out[experiment_id].append((state, n))
    return out
