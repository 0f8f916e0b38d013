"""View that creates a tournament from runs, criteria and a number of prompts."""

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

from judging.access import may_create
from judging.judges import create_standard_rubrics
from judging.tournaments.commands import Draft, Entry, TournamentRefused, create_from_draft
from judging.tournaments.forms import TournamentForm
from runs.http import SignedIn, UnknownChoice, named_experiment
from runs.models import EVALUATION, Response, Run, list_evaluated_steps

MAX_RUNS = 20
DRAFT_FIELDS = (
    "name", "question", "is_private", "prompts", "seed", "overlap", "gold_set", "gold_every", "picks", "reveals",
    "warns",
)  # fmt: skip


@dataclass(frozen=True)
class Offer:
    """Responses that can become a contestant: `answers` of a run at a step on a split.

    `missing`: `5 of 32 responses`, if the evaluation is partial.
    """

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
    """Render the form, which offers responses of `run` or `experiment` in the URL. A POST creates the tournament."""
    if not may_create(request.user):
        raise PermissionDenied
    create_standard_rubrics()
    if request.method != "POST":
        _check_address(request)
        _warn_of_many_runs(request)
    runs, total, requested_uids = _offered_runs(request)
    offers = _offers(runs, requested_uids, request.POST.getlist("contestant") if request.method == "POST" else None)
    form = TournamentForm(request.POST or None, person=request.user, initial={"name": _suggested_name(runs)})
    if request.method == "POST" and form.is_valid():
        settings = {name: form.cleaned_data[name] for name in DRAFT_FIELDS}
        entries = [Entry(offer.run, offer.step, offer.split) for offer in offers if offer.is_chosen]
        try:
            tournament = create_from_draft(
                request.user, Draft(entries=entries, rubrics=list(form.cleaned_data["criteria"]), **settings)
            )
        except TournamentRefused as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, gettext("Created %(name)s. Vote or invite voters.") % {"name": tournament.name})
            return redirect(tournament)
    context = {
        "form": form,
        "offers": _by_run(offers),
        "offered": len(runs),
        "total": total,
        "requested_uids": sorted(requested_uids),
    }
    return TemplateResponse(request, "judging/tournaments/new.html", context, status=400 if form.errors else 200)


def _check_address(request: SignedIn) -> None:
    """Raise UnknownChoice if the URL names an experiment or a run that does not exist, or a run without responses."""
    named_experiment(request, request.GET.get("experiment", ""))
    uids = {*request.GET.getlist("run"), *(value.split(":")[0] for value in request.GET.getlist("contestant"))}
    answered = Run.objects.visible_to(request.user).filter(pk__in=Response.objects.values("run"), uid__in=uids)
    if missing := uids - set(answered.values_list("uid", flat=True)) if uids else set():
        message = gettext("run must be a run that you may see and that has saved responses, not %(uids)s.")
        raise UnknownChoice(message % {"uids": ", ".join(sorted(missing))[:200]})


def _warn_of_many_runs(request: SignedIn) -> None:
    """Show a warning if the URL names more runs than the form offers."""
    if (n := len(set(request.GET.getlist("run")))) > MAX_RUNS:
        message = gettext("A tournament can have at most %(most)s runs: the newest %(most)s of %(n)s are offered.")
        messages.warning(request, message % {"most": MAX_RUNS, "n": n})


def _offered_runs(request: SignedIn) -> tuple[list[Run], int, set[str]]:
    """Return (the runs with responses to offer, their total number, the uids of the requested runs).

    The other runs of a requested run's experiment are offered too.
    """
    answered = Run.objects.visible_to(request.user).filter(pk__in=Response.objects.values("run"))
    sent = request.POST if request.method == "POST" else request.GET
    requested_uids = {*sent.getlist("run"), *(value.split(":")[0] for value in sent.getlist("contestant"))}
    experiment = sent.get("experiment", "")
    if experiment.isdecimal() and len(experiment) < 10:
        answered = answered.filter(experiment=int(experiment))
    elif requested_uids:
        answered = answered.filter(experiment__in=answered.filter(uid__in=requested_uids).values("experiment"))
    requested_first = Case(When(uid__in=requested_uids, then=Value(0)), default=Value(1))
    runs = list(answered.select_related("experiment").order_by(requested_first, "-pk")[:MAX_RUNS])
    return runs, answered.count(), requested_uids or ({run.uid for run in runs} if experiment else set())


def _offers(
    runs: Sequence[Run], requested_uids: Collection[str], selected_values: Collection[str] | None
) -> list[Offer]:
    """Return an offer for each step and split with responses of the runs, partial evaluations last.

    If `selected_values` is None, the first offer of each requested run is selected: its last complete evaluation.
    """
    run_index = {run.pk: k for k, run in enumerate(runs)}
    greedy = Response.objects.filter(run__in=run_index, sample=0, is_superseded=False)
    counted = greedy.values_list("run", "step", "split").annotate(Count("prompt", distinct=True)).order_by()
    missing = _missing(runs)
    rows = sorted(counted, key=lambda r: (run_index[r[0]], r[2] != EVALUATION, r[2], r[:3] in missing, -r[1]))
    seen_runs: set[int] = set()
    offers = []
    for pk, step, split, answers in rows:
        run = runs[run_index[pk]]
        is_first = pk not in seen_runs and run.uid in requested_uids
        seen_runs.add(pk)
        is_chosen = is_first if selected_values is None else f"{run.uid}:{step}:{split}" in selected_values
        offers.append(Offer(run, step, split, answers, is_chosen, missing.get((pk, step, split), "")))
    return offers


def _missing(runs: Sequence[Run]) -> dict[tuple[int, int, str], str]:
    """Return `5 of 32 responses` by run id, step and split of each partial evaluation."""
    evaluated = list_evaluated_steps(runs).items()
    return {
        (pk, evaluated.step, EVALUATION): evaluated.words
        for pk, steps in evaluated
        for evaluated in steps
        if evaluated.is_partial
    }


def _by_run(offers: Sequence[Offer]) -> list[tuple[Run, list[Offer]]]:
    runs = list(dict.fromkeys(offer.run for offer in offers))
    return [(run, [offer for offer in offers if offer.run == run]) for run in runs]


def _suggested_name(runs: Sequence[Run]) -> str:
    experiments = list(dict.fromkeys(run.experiment.name for run in runs))
    return experiments[0][:200] if len(experiments) == 1 else ""
