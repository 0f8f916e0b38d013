"""List of experiments, with the form of a new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Page
from django.db.models import Count, Max, Q, QuerySet
from django.db.models.functions import Greatest
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods

from runs.access import may_make
from runs.experiments.edit import UNDO
from runs.experiments.home.best_runs import BestRun
from runs.experiments.home.results import best_results
from runs.http import SignedIn, TextField, page_of, require_choice
from runs.models import Experiment, Run
from workers.executors.states import OPEN_STATES, State

EXPERIMENTS_A_PAGE = 20
SHELVES = ("current", "archived")


@dataclass(frozen=True)
class Entry:
    """An experiment of the list: the numbers of its runs by state, and its best runs that ended, as home shows them."""

    experiment: Experiment
    states: Sequence[tuple[str, int]]
    best: Sequence[BestRun]

    @property
    def absence(self) -> str:
        """Return why it has no best run."""
        if not self.states:
            return gettext("There are no runs yet.")
        if any(State(state) in OPEN_STATES for state, _n in self.states):
            return gettext("No run has ended with a held-out reward yet.")
        return gettext("All runs ended without a finite held-out reward.")


class ExperimentForm(forms.ModelForm):  # type: ignore[type-arg]
    """Form of a new experiment."""

    class Meta:
        model = Experiment
        fields = ("name", "question", "is_private")
        labels = {  # noqa: RUF012
            "name": gettext_lazy("Name"),
            "question": gettext_lazy("Question"),
            "is_private": gettext_lazy("Private"),
        }
        help_texts = {"question": gettext_lazy("The question that its runs answer.")}  # noqa: RUF012
        field_classes = {"question": TextField}  # noqa: RUF012
        widgets = {"question": forms.Textarea(attrs={"rows": 2})}  # noqa: RUF012


@require_http_methods(["GET", "HEAD", "POST"])
def experiments(request: SignedIn) -> HttpResponse:
    """Render the list; a POST creates an experiment."""
    form = ExperimentForm(request.POST or None)
    if request.method == "POST" and not may_make(request.user):
        raise PermissionDenied
    if request.method == "POST" and form.is_valid():
        form.instance.owner = request.user
        experiment = form.save()
        messages.success(request, gettext("Created %(name)s. Launch its first run.") % {"name": experiment.name})
        return redirect(experiment)
    query, shelf = request.GET.get("q", "").strip(), require_choice(request, "shelf", SHELVES, "current")
    page = page_of(request, _matching_experiments(request, query, shelf), EXPERIMENTS_A_PAGE)
    context = {
        "form": form, "q": query, "shelf": shelf, "page": page, "entries": _entries(page),
        "undo": request.session.get(UNDO), "may_make": may_make(request.user),
    }  # fmt: skip
    return TemplateResponse(request, "experiments/experiments.html", context, status=400 if form.errors else 200)


def _matching_experiments(request: SignedIn, query: str, shelf: str) -> QuerySet[Experiment]:
    time_fields = ("runs__created_at", "runs__attempts__ended_at", "runs__attempts__heartbeat_seen_at")
    active = Greatest("created_at", *(Max(time_field) for time_field in time_fields))
    visible = Experiment.objects.visible_to(request.user).filter(archived_at__isnull=shelf == "current")
    rows = visible.select_related("owner").annotate(active_at=active)
    for word in query.split():
        fields = ("name", "question", "note", "tags")
        rows = rows.filter(reduce(or_, (Q(**{f"{field}__icontains": word}) for field in fields)))
    return rows.order_by("-active_at", "-pk")


def _entries(page: Page[Experiment]) -> list[Entry]:
    """Return the entries of a page. The number of queries does not depend on the number of experiments or runs."""
    states = _states(page)
    runs = Run.objects.current().trainings().filter(experiment__in=[experiment.pk for experiment in page])
    best: Mapping[int, Sequence[BestRun]] = best_results(runs, EXPERIMENTS_A_PAGE)
    return [Entry(experiment, states[experiment.pk], best.get(experiment.pk, ())) for experiment in page]


def _states(page: Page[Experiment]) -> dict[int, list[tuple[str, int]]]:
    """Return experiment id -> [(state, number of runs in it)]."""
    counted = Run.objects.current().filter(experiment__in=[e.pk for e in page]).values_list("experiment_id", "state")
    out: dict[int, list[tuple[str, int]]] = {e.pk: [] for e in page}
    for experiment_id, state, n in counted.annotate(n=Count("pk")).order_by("experiment_id", "state"):
        out[experiment_id].append((state, n))
    return out
