"""A new tournament: which runs' answers meet, by which criteria, on how many prompts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Case, Count, Value, When
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from judging.access import may_hold
from judging.judges import make_standard
from judging.tournaments.commands import CannotMake, Draft, Entry, make
from judging.tournaments.forms import TournamentForm
from runs.http import SignedIn, UnknownChoice, named_experiment
from runs.models import EVALUATION, Response, Run, list_evaluated_steps

RUNS_SHOWN = 20
DRAFTED = (
    "name", "question", "is_private", "prompts", "seed", "overlap", "gold_set", "gold_every", "picks", "reveals",
    "warns",
)  # fmt: skip


@dataclass(frozen=True)
class Offer:
    """Answers that could meet others: `answers` of a run at a step on a split. `missing`: `5 of 32 answers`, if the
    evaluation lacks some."""

    run: Run
    step: int
    split: str
    answers: int
    is_chosen: bool = False
    missing: str = ""

    @property
    def value(self) -> str:
        """Return the value that names this offer in the form: the run's uid, step and split."""
        return f"{self.run.uid}:{self.step}:{self.split}"


@require_http_methods(["GET", "HEAD", "POST"])
def tournament_new(request: SignedIn) -> HttpResponse:
    """The form: `run`, or `experiment`, in the address says whose answers are offered. A POST makes the tournament."""
    if not may_hold(request.user):
        raise PermissionDenied
    make_standard()
    if request.method != "POST":
        _check_named(request)
    runs, total, asked = _runs(request)
    offers = _offers(runs, asked, request.POST.getlist("contestant") if request.method == "POST" else None)
    form = TournamentForm(request.POST or None, person=request.user, initial={"name": _name(runs)})
    if request.method == "POST" and form.is_valid():
        said = {name: form.cleaned_data[name] for name in DRAFTED}
        entries = [Entry(offer.run, offer.step, offer.split) for offer in offers if offer.is_chosen]
        try:
            made = make(request.user, Draft(entries=entries, rubrics=list(form.cleaned_data["criteria"]), **said))
        except CannotMake as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, gettext("Made %(name)s. Vote, or invite people.") % {"name": made.name})
            return redirect(made)
    context = {"form": form, "offers": _by_run(offers), "shown": len(runs), "total": total, "asked": sorted(asked)}
    return TemplateResponse(request, "judging/tournaments/new.html", context, status=400 if form.errors else 200)


def _check_named(request: SignedIn) -> None:
    """Raise UnknownChoice if the address names an experiment or a run that is not there, or has no answers."""
    named_experiment(request, request.GET.get("experiment", ""))
    named = {*request.GET.getlist("run"), *(value.split(":")[0] for value in request.GET.getlist("contestant"))}
    answered = Run.objects.visible_to(request.user).filter(pk__in=Response.objects.values("run"), uid__in=named)
    if missing := named - set(answered.values_list("uid", flat=True)) if named else set():
        message = gettext("run must be one that you may see and that has kept answers, not %(uids)s.")
        raise UnknownChoice(message % {"uids": ", ".join(sorted(missing))[:200]})


def _runs(request: SignedIn) -> tuple[list[Run], int, set[str]]:
    """(the runs whose answers are offered, of how many, the uids of those that were asked for).

    Beside a run that was asked for stand the others of its experiment.
    """
    answered = Run.objects.visible_to(request.user).filter(pk__in=Response.objects.values("run"))
    sent = request.POST if request.method == "POST" else request.GET
    named = {*sent.getlist("run"), *(value.split(":")[0] for value in sent.getlist("contestant"))}
    experiment = sent.get("experiment", "")
    if experiment.isdecimal() and len(experiment) < 10:
        answered = answered.filter(experiment=int(experiment))
    elif named:
        answered = answered.filter(experiment__in=answered.filter(uid__in=named).values("experiment"))
    last = Case(When(uid__in=named, then=Value(0)), default=Value(1))
    runs = list(answered.select_related("experiment").order_by(last, "-pk")[:RUNS_SHOWN])
    return runs, answered.count(), named or ({run.uid for run in runs} if experiment else set())


def _offers(runs: Sequence[Run], asked: Collection[str], chosen: Collection[str] | None) -> list[Offer]:
    """Everything that the runs have answered, partial evaluations last. Unless some are chosen, the first of each run
    asked for is: its last whole evaluation."""
    place = {run.pk: k for k, run in enumerate(runs)}
    greedy = Response.objects.filter(run__in=place, sample=0, is_superseded=False)
    counted = greedy.values_list("run", "step", "split").annotate(Count("prompt", distinct=True)).order_by()
    missing = _missing(runs)
    rows = sorted(counted, key=lambda r: (place[r[0]], r[2] != EVALUATION, r[2], r[:3] in missing, -r[1]))
    seen: set[int] = set()
    offers = []
    for pk, step, split, answers in rows:
        run = runs[place[pk]]
        is_first = pk not in seen and run.uid in asked
        seen.add(pk)
        is_chosen = is_first if chosen is None else f"{run.uid}:{step}:{split}" in chosen
        offers.append(Offer(run, step, split, answers, is_chosen, missing.get((pk, step, split), "")))
    return offers


def _missing(runs: Sequence[Run]) -> dict[tuple[int, int, str], str]:
    """Return `5 of 32 answers` by run id, step and split of each partial evaluation."""
    evaluated = list_evaluated_steps(runs).items()
    return {(pk, one.step, EVALUATION): one.words for pk, steps in evaluated for one in steps if one.is_partial}


def _by_run(offers: Sequence[Offer]) -> list[tuple[Run, list[Offer]]]:
    runs = list(dict.fromkeys(offer.run for offer in offers))
    return [(run, [offer for offer in offers if offer.run == run]) for run in runs]


def _name(runs: Sequence[Run]) -> str:
    experiments = list(dict.fromkeys(run.experiment.name for run in runs))
    return experiments[0][:200] if len(experiments) == 1 else ""
