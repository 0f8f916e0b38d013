"""View that creates a tournament from runs, criteria and a number of prompts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

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
from judging.tournaments.commands import Entry, TournamentRefused, create_tournament
from judging.tournaments.forms import TournamentForm
from runs.http import SignedIn, UnknownChoice, named_experiment, whole_number
from runs.models import EVALUATION, TRAINING, Response, Run, list_evaluated_steps
from runs.responses import judgeable_runs

MAX_RUNS = 20
MAX_NAME_LENGTH = 200
MAX_UNFOLDED = 4
"""Up to this many offers of a run are all shown."""


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
    offers = _offers(runs)
    sent = request.POST if request.method == "POST" else request.GET
    chosen = set(sent.getlist("contestant"))
    if request.method != "POST":
        chosen |= _suggested_values(offers, requested_uids, chosen)
    offers = [replace(offer, is_chosen=offer.value in chosen) for offer in offers]
    form = TournamentForm(request.POST or None, person=request.user, initial={"name": _suggested_name(offers)})
    if request.method == "POST" and form.is_valid():
        form.instance.owner = request.user
        entries = [Entry(offer.run, offer.step, offer.split) for offer in offers if offer.is_chosen]
        criteria, prompts = form.cleaned_data["criteria"], form.cleaned_data["prompts"]
        try:
            tournament = create_tournament(form.instance, entries, list(criteria), prompts)
        except TournamentRefused as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, gettext("Created %(name)s. Vote or invite voters.") % {"name": tournament.name})
            return redirect(tournament)
    by_run = _by_run(offers)
    context = {
        "form": form,
        "offers": [row for row in by_run if row.run.uid in requested_uids],
        "other_offers": [row for row in by_run if row.run.uid not in requested_uids],
        "offered": len(by_run),
        "total": total,
        "requested_uids": sorted(requested_uids),
    }
    return TemplateResponse(request, "judging/tournaments/new.html", context, status=400 if form.errors else 200)


def _check_address(request: SignedIn) -> None:
    """Raise UnknownChoice if the URL names an experiment or a run that does not exist, or a run without responses."""
    named_experiment(request, request.GET.get("experiment", ""))
    uids = {*request.GET.getlist("run"), *(value.split(":")[0] for value in request.GET.getlist("contestant"))}
    answered = Run.objects.visible_to(request.user).filter(
        pk__in=Response.objects.exclude(split=TRAINING).values("run"), uid__in=uids
    )
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
    answered = judgeable_runs(Run.objects.visible_to(request.user))
    sent = request.POST if request.method == "POST" else request.GET
    requested_uids = {*sent.getlist("run"), *(value.split(":")[0] for value in sent.getlist("contestant"))}
    experiment = sent.get("experiment", "")
    if (experiment_pk := whole_number(experiment)) is not None:
        answered = answered.filter(experiment=experiment_pk)
    elif requested_uids:
        answered = answered.filter(experiment__in=answered.filter(uid__in=requested_uids).values("experiment"))
    requested_first = Case(When(uid__in=requested_uids, then=Value(0)), default=Value(1))
    runs = list(answered.select_related("experiment").order_by(requested_first, "-pk")[:MAX_RUNS])
    return runs, answered.count(), requested_uids or ({run.uid for run in runs} if experiment else set())


def _offers(runs: Sequence[Run]) -> list[Offer]:
    """Return an offer for each step and split with responses of the runs: of each run the last complete evaluation
    first, partial evaluations last."""
    run_index = {run.pk: k for k, run in enumerate(runs)}
    held_out = Response.objects.exclude(split=TRAINING)
    greedy = held_out.filter(run__in=run_index, sample=0, is_superseded=False)
    counted = greedy.values_list("run", "step", "split").annotate(Count("prompt", distinct=True)).order_by()
    missing = _missing(runs)
    rows = sorted(counted, key=lambda r: (run_index[r[0]], r[2] != EVALUATION, r[2], r[:3] in missing, -r[1]))
    return [
        Offer(runs[run_index[pk]], step, split, answers, missing=missing.get((pk, step, split), ""))
        for pk, step, split, answers in rows
    ]


def _suggested_values(offers: Sequence[Offer], requested_uids: Collection[str], chosen: Collection[str]) -> set[str]:
    """Return the values of the offers to select: the first offer of each requested run without a chosen one.

    A single run gets an opponent: its model before training, or else its first complete evaluation on the same split.
    """
    with_choice = {value.split(":")[0] for value in chosen}
    first_offers = list({offer.run.uid: offer for offer in reversed(offers)}.values())
    suggested = [
        offer for offer in first_offers if offer.run.uid in requested_uids and offer.run.uid not in with_choice
    ]
    if len(suggested) == 1 and not chosen:
        (last,) = suggested
        earlier = [
            offer for offer in offers
            if offer.run == last.run and offer.split == last.split and offer.step < last.step and not offer.missing
        ]  # fmt: skip
        suggested += sorted(earlier, key=lambda offer: offer.step)[:1]
    return {offer.value for offer in suggested}


def _missing(runs: Sequence[Run]) -> dict[tuple[int, int, str], str]:
    """Return `5 of 32 responses` by run id, step and split of each partial evaluation."""
    evaluated = list_evaluated_steps(runs).items()
    return {
        (pk, evaluated.step, EVALUATION): evaluated.words
        for pk, steps in evaluated
        for evaluated in steps
        if evaluated.is_partial
    }


@dataclass(frozen=True)
class RunOffers:
    """Offers of a run: those that the form shows, and those that it folds."""

    run: Run
    shown: list[Offer]
    folded: list[Offer]


def _by_run(offers: Sequence[Offer]) -> list[RunOffers]:
    """Return the offers of each run. Of many offers, those that are not chosen are folded, except for the first."""
    by_run: dict[Run, list[Offer]] = {}
    for offer in offers:
        by_run.setdefault(offer.run, []).append(offer)
    return [_fold(run, rows) for run, rows in by_run.items()]


def _fold(run: Run, offers: list[Offer]) -> RunOffers:
    if len(offers) <= MAX_UNFOLDED:
        return RunOffers(run, offers, [])
    shown = [offer for offer in offers if offer.is_chosen] or offers[:1]
    return RunOffers(run, shown, [offer for offer in offers if offer not in shown])


def _suggested_name(offers: Sequence[Offer]) -> str:
    """Return a name for a tournament of the chosen offers: both runs' names if there are two, or the experiments'."""
    chosen_runs = list(dict.fromkeys(offer.run for offer in offers if offer.is_chosen))
    names = [run.name for run in chosen_runs]
    if len(names) == 2 and names[0] != names[1]:
        return (gettext("%(a)s against %(b)s") % {"a": names[0], "b": names[1]})[:MAX_NAME_LENGTH]
    steps = sorted(offer.step for offer in offers if offer.is_chosen)
    if len(names) == 1 and len(steps) == 2 and steps[0] != steps[1]:
        params = {"name": names[0], "a": steps[1], "b": steps[0]}
        return (gettext("%(name)s: step %(a)s against step %(b)s") % params)[:MAX_NAME_LENGTH]
    experiments = dict.fromkeys(run.experiment.name for run in chosen_runs or [offer.run for offer in offers])
    return ", ".join(experiments)[:MAX_NAME_LENGTH] if chosen_runs or len(experiments) == 1 else ""
