"""Change many runs at once: the selected ones, or all that fit the query. The page offers to undo the last change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_POST

from runs.access import changeable
from runs.compare.run_table import asked_of, fitting
from runs.experiments import trash
from runs.http import SignedIn, visible_experiment
from runs.launching import commands
from runs.models import Experiment, Run
from runs.models.job import OPEN
from runs.models.trash import TAG_LENGTH

RUNS_AT_MOST = 10_000
STOPPED_AT_MOST = 500
UNDO = "undo"
"""Session key of the data that undo the last change."""
OFFERED = ("compare", "tag", "untag", "cancel", "archive", "unarchive", "delete")


@dataclass(frozen=True)
class Verb:
    """An action on runs. `act` runs it and returns the ids of the changed runs; `inverse` names the action that undoes
    it; `done` returns the message for a number of runs, with placeholders for the number and the tag.
    """

    done: Callable[[int], str]
    act: Callable[[QuerySet[Run], User, str], list[int]]
    inverse: str
    is_stop: bool = False


VERBS: Mapping[str, Verb] = {
    "tag": Verb(
        lambda n: ngettext("Tagged %(n)s run: %(tag)s.", "Tagged %(n)s runs: %(tag)s.", n),
        lambda runs, person, tag: trash.tag_runs(runs, tag), "untag",
    ),
    "untag": Verb(
        lambda n: ngettext("Took the tag from %(n)s run: %(tag)s.", "Took the tag from %(n)s runs: %(tag)s.", n),
        lambda runs, person, tag: trash.untag_runs(runs, tag), "tag",
    ),
    "archive": Verb(
        lambda n: ngettext("Archived %(n)s run.", "Archived %(n)s runs.", n),
        lambda runs, person, tag: trash.archive_runs(runs, person), "unarchive",
    ),
    "unarchive": Verb(
        lambda n: ngettext("Put back %(n)s run.", "Put back %(n)s runs.", n),
        lambda runs, person, tag: trash.unarchive_runs(runs), "archive",
    ),
    "delete": Verb(
        lambda n: ngettext("Deleted %(n)s run.", "Deleted %(n)s runs.", n),
        lambda runs, person, tag: trash.delete_runs(runs, person), "restore", is_stop=True,
    ),
    "restore": Verb(
        lambda n: ngettext("Restored %(n)s run.", "Restored %(n)s runs.", n),
        lambda runs, person, tag: trash.restore_runs(runs), "delete",
    ),
}  # fmt: skip


@require_POST
def runs_bulk(request: SignedIn, pk: int) -> HttpResponse:
    """Run the action of the pressed button on the selected runs, and redirect to the table in the same state."""
    experiment = visible_experiment(request, pk)
    back = redirect(f"{experiment.get_absolute_url()}?{_state(request).urlencode()}")
    do, tag = request.POST.get("do", ""), request.POST.get("tag", "").strip()
    chosen = _chosen(request, experiment)
    allowed = changeable(request.user, chosen)
    complaint = _complaint(do, tag, chosen, allowed)
    if not complaint and do != "compare" and (others := chosen.count() - allowed.count()):
        messages.warning(request, _left_alone(others))
    if complaint:
        messages.error(request, complaint)
    elif do == "compare":
        return redirect(f"{reverse('compare')}?{_comparison(request, experiment, chosen).urlencode()}")
    elif do == "cancel":
        stopped = commands.cancel_runs(allowed, request.user)
        said = ngettext(
            "Asked %(n)s run to stop. Each saves a checkpoint first, if it has begun.",
            "Asked %(n)s runs to stop. Each saves a checkpoint first, if it has begun.",
            stopped,
        )
        messages.success(request, said % {"n": stopped})
    else:
        _do(request, experiment, do, allowed, tag)
    return back


@require_POST
def runs_undo(request: SignedIn, pk: int) -> HttpResponse:
    """Undo the last bulk change of this session if it is one of this experiment's runs."""
    experiment = visible_experiment(request, pk)
    kept = request.session.get(UNDO)
    if kept is None or kept["experiment"] != pk:
        messages.warning(request, gettext("There is nothing to undo."))
    else:
        del request.session[UNDO]
        runs = changeable(request.user, experiment.runs.filter(pk__in=kept["runs"]))
        undone = VERBS[kept["do"]].act(runs, request.user, kept["tag"])
        said = ngettext("Undone: %(n)s run as before.", "Undone: %(n)s runs as before.", len(undone))
        messages.success(request, said % {"n": len(undone)})
    return redirect(f"{experiment.get_absolute_url()}?{_state(request).urlencode()}")


def undo_of(request: SignedIn, experiment: Experiment) -> str:
    """Return the message of this session's last change to the experiment's runs; empty if there is nothing to undo."""
    kept = request.session.get(UNDO)
    return str(kept["said"]) if kept and kept["experiment"] == experiment.pk else ""


def _comparison(request: SignedIn, experiment: Experiment, chosen: QuerySet[Run]) -> QueryDict:
    """Return the parameters of the compare page: the selected runs by uid, or the query if all runs that fit it are
    selected, since thousands of uids do not fit into an address.
    """
    address = QueryDict(mutable=True)
    if "all" in request.POST:
        address.update({"experiment": str(experiment.pk), "q": _state(request).get("q", "")})
    else:
        address.setlist("run", list(chosen.order_by("-pk").values_list("uid", flat=True)))
    return address


def _state(request: SignedIn) -> QueryDict:
    return QueryDict(request.POST.get("back", "").removeprefix("?"))


def _chosen(request: SignedIn, experiment: Experiment) -> QuerySet[Run]:
    """Return the selected runs, or all runs that fit the page's query."""
    if "all" not in request.POST:
        return experiment.runs.filter(deleted_at__isnull=True, uid__in=request.POST.getlist("run"))
    asked = asked_of(request, experiment, _state(request))
    runs, _ = fitting(experiment.runs.filter(deleted_at__isnull=True), asked)
    return Run.objects.filter(pk__in=runs.values("pk"))


def _complaint(do: str, tag: str, chosen: QuerySet[Run], allowed: QuerySet[Run]) -> str:
    """Return why the action is refused; empty if it is allowed."""
    if do not in OFFERED:
        return gettext("What to do must be one of %(verbs)s, not %(do)r.") % {"verbs": ", ".join(OFFERED), "do": do}
    if do in ("tag", "untag") and not 1 <= len(tag) <= TAG_LENGTH:
        return gettext("Write a tag of 1 to %(n)s characters.") % {"n": TAG_LENGTH}
    if not chosen.exists():
        return gettext("Choose at least one run by its checkbox.")
    if do == "compare":
        return ""
    return _too_many(do, allowed)


def _too_many(do: str, allowed: QuerySet[Run]) -> str:
    if not allowed.exists():
        return gettext("These runs belong to others: only whoever made a run, or owns its experiment, may change it.")
    if allowed.count() > RUNS_AT_MOST:
        return gettext("These are more than %(n)s runs: narrow the query.") % {"n": RUNS_AT_MOST}
    if do in ("cancel", "delete") and allowed.filter(state__in=OPEN).count() > STOPPED_AT_MOST:
        said = gettext("More than %(n)s of these would have to be stopped: narrow the query.")
        return said % {"n": STOPPED_AT_MOST}
    return ""


def _do(request: SignedIn, experiment: Experiment, do: str, runs: QuerySet[Run], tag: str) -> None:
    changed = VERBS[do].act(runs, request.user, tag)
    said = VERBS[do].done(len(changed)) % {"n": len(changed), "tag": tag}
    request.session[UNDO] = {
        "experiment": experiment.pk, "do": VERBS[do].inverse, "tag": tag, "runs": changed, "said": said,
    }  # fmt: skip


def _left_alone(count: int) -> str:
    said = ngettext(
        "%(n)s run of the chosen belong to others, and stayed as they were.",
        "%(n)s runs of the chosen belong to others, and stayed as they were.",
        count,
    )
    return said % {"n": count}
