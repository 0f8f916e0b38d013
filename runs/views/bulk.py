"""What is done to many runs at once: those that were ticked, or all that fit the query. What can be undone, is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from runs import jobs, shelving
from runs.access import changeable
from runs.models import Experiment, Run
from runs.models.job import OPEN
from runs.models.shelf import TAG_LENGTH
from runs.views.parameters import SignedIn
from runs.views.runs_asked import asked_of
from runs.views.runs_table import fitting
from runs.views.visible import visible_experiment

RUNS_AT_MOST = 10_000
STOPPED_AT_MOST = 500
UNDO = "undo"
"""Where a session keeps what its last change can be undone by."""


@dataclass(frozen=True)
class Verb:
    """Something done to runs: gives the ids of those that it changed. `inverse` undoes it."""

    done: str
    act: Callable[[QuerySet[Run], User, str], list[int]]
    inverse: str
    is_stop: bool = False


VERBS: Mapping[str, Verb] = {
    "tag": Verb("Tagged", lambda runs, person, tag: shelving.tag_runs(runs, tag), "untag"),
    "untag": Verb("Took the tag from", lambda runs, person, tag: shelving.untag_runs(runs, tag), "tag"),
    "archive": Verb("Archived", lambda runs, person, tag: shelving.archive_runs(runs, person), "unarchive"),
    "unarchive": Verb("Put back", lambda runs, person, tag: shelving.unarchive_runs(runs), "archive"),
    "delete": Verb("Deleted", lambda runs, person, tag: jobs.delete_runs(runs, person), "restore", is_stop=True),
    "restore": Verb("Restored", lambda runs, person, tag: shelving.restore_runs(runs), "delete"),
}
OFFERED = ("compare", "tag", "untag", "cancel", "archive", "unarchive", "delete")


@require_POST
def runs_bulk(request: SignedIn, pk: int) -> HttpResponse:
    """Does what the pressed button says to the chosen runs, and goes back to the table as it was."""
    experiment = visible_experiment(request, pk)
    back = redirect(f"{experiment.get_absolute_url()}?{_state(request).urlencode()}")
    do, tag = request.POST.get("do", ""), request.POST.get("tag", "").strip()
    chosen = _chosen(request, experiment)
    allowed = changeable(request.user, chosen)
    complaint = _complaint(do, tag, chosen, allowed)
    if not complaint and do != "compare" and (others := chosen.count() - allowed.count()):
        messages.warning(request, f"{_runs(others)} of the chosen belong to others, and stayed as they were.")
    if complaint:
        messages.error(request, complaint)
    elif do == "compare":
        return redirect(f"{reverse('compare')}?{_comparison(request, experiment, chosen).urlencode()}")
    elif do == "cancel":
        stopped = jobs.cancel_runs(allowed, request.user)
        messages.success(request, f"Asked {_runs(stopped)} to stop. Each saves a checkpoint first, if it has begun.")
    else:
        _do(request, experiment, do, allowed, tag)
    return back


@require_POST
def runs_undo(request: SignedIn, pk: int) -> HttpResponse:
    """Undoes the last change of this session, where it was one of this experiment's runs."""
    experiment = visible_experiment(request, pk)
    kept = request.session.get(UNDO)
    if kept is None or kept["experiment"] != pk:
        messages.warning(request, "There is nothing to undo.")
    else:
        del request.session[UNDO]
        runs = changeable(request.user, experiment.runs.filter(pk__in=kept["runs"]))
        undone = VERBS[kept["do"]].act(runs, request.user, kept["tag"])
        messages.success(request, f"Undone: {_runs(len(undone))} as before.")
    return redirect(f"{experiment.get_absolute_url()}?{_state(request).urlencode()}")


def undo_of(request: SignedIn, experiment: Experiment) -> str:
    """What the last change was, where it can be undone; else nothing."""
    kept = request.session.get(UNDO)
    return str(kept["said"]) if kept and kept["experiment"] == experiment.pk else ""


def _comparison(request: SignedIn, experiment: Experiment, chosen: QuerySet[Run]) -> QueryDict:
    """The ticked runs by name; all that fit by their query, since thousands of names are no address."""
    address = QueryDict(mutable=True)
    if "all" in request.POST:
        address.update({"experiment": str(experiment.pk), "q": _state(request).get("q", "")})
    else:
        address.setlist("run", list(chosen.order_by("-pk").values_list("uid", flat=True)))
    return address


def _state(request: SignedIn) -> QueryDict:
    return QueryDict(request.POST.get("back", "").removeprefix("?"))


def _chosen(request: SignedIn, experiment: Experiment) -> QuerySet[Run]:
    """The ticked runs, or all that fit the query that the page shows."""
    if "all" not in request.POST:
        return experiment.runs.filter(deleted_at__isnull=True, uid__in=request.POST.getlist("run"))
    asked = asked_of(request, experiment, _state(request))
    runs, _ = fitting(experiment.runs.filter(deleted_at__isnull=True), asked)
    return Run.objects.filter(pk__in=runs.values("pk"))


def _complaint(do: str, tag: str, chosen: QuerySet[Run], allowed: QuerySet[Run]) -> str:
    """Why nothing is done; empty where it can be."""
    if do not in OFFERED:
        return f"What to do must be one of {', '.join(OFFERED)}, not {do!r}."
    if do in ("tag", "untag") and not 1 <= len(tag) <= TAG_LENGTH:
        return f"Write a tag of 1 to {TAG_LENGTH} characters."
    if not chosen.exists():
        return "Choose at least one run by its checkbox."
    if do == "compare":
        return ""
    return _too_many(do, allowed)


def _too_many(do: str, allowed: QuerySet[Run]) -> str:
    if not allowed.exists():
        return "These runs belong to others: only whoever made a run, or owns its experiment, may change it."
    if allowed.count() > RUNS_AT_MOST:
        return f"These are more than {RUNS_AT_MOST} runs: narrow the query."
    if do in ("cancel", "delete") and allowed.filter(state__in=OPEN).count() > STOPPED_AT_MOST:
        return f"More than {STOPPED_AT_MOST} of these would have to be stopped: narrow the query."
    return ""


def _do(request: SignedIn, experiment: Experiment, do: str, runs: QuerySet[Run], tag: str) -> None:
    changed = VERBS[do].act(runs, request.user, tag)
    said = f"{VERBS[do].done} {_runs(len(changed))}" + (f": {tag}" if tag and "tag" in do else "") + "."
    request.session[UNDO] = {
        "experiment": experiment.pk, "do": VERBS[do].inverse, "tag": tag, "runs": changed, "said": said,
    }  # fmt: skip


def _runs(count: int) -> str:
    return f"{count} run{'' if count == 1 else 's'}"
