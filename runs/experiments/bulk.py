"""Change many runs together: the selected ones, or all that match the query. The page offers to undo the last
change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_POST

from runs.access import changeable, may_make
from runs.compare.run_table import filter_runs, parse_table_query
from runs.experiments import trash
from runs.http import SignedIn, visible_experiment
from runs.launching import commands
from runs.models import TRAINING, Experiment, Response, Run
from runs.models.job import OPEN
from runs.models.trash import TAG_LENGTH

MAX_RUNS = 10_000
MAX_STOPPED_RUNS = 500
UNDO = "undo"
"""Session key of the data that undo the last change."""
MAX_COLUMNS = 6
"""Runs whose responses are compared side by side."""
MAX_JUDGED_RUNS = 20
"""Runs that a new tournament offers."""
LINKS = ("compare", "responses", "judge")
"""Actions that lead to a page for the selected runs, and change none."""
ACTION_NAMES = (*LINKS, "tag", "untag", "cancel", "archive", "unarchive", "delete")


@dataclass(frozen=True)
class Action:
    """An action on runs. `act` runs it and returns the ids of the changed runs; `inverse` names the action that undoes
    it; `message` returns the message for a number of runs, with placeholders for the number and the tag."""

    message: Callable[[int], str]
    act: Callable[[QuerySet[Run], User, str], list[int]]
    inverse: str
    is_stop: bool = False


ACTIONS: Mapping[str, Action] = {
    "tag": Action(
        lambda n: ngettext("Tagged %(n)s run: %(tag)s.", "Tagged %(n)s runs: %(tag)s.", n),
        lambda runs, person, tag: trash.tag_runs(runs, tag), "untag",
    ),
    "untag": Action(
        lambda n: ngettext("Removed the tag from %(n)s run: %(tag)s.", "Removed the tag from %(n)s runs: %(tag)s.", n),
        lambda runs, person, tag: trash.untag_runs(runs, tag), "tag",
    ),
    "archive": Action(
        lambda n: ngettext("Archived %(n)s run.", "Archived %(n)s runs.", n),
        lambda runs, person, tag: trash.archive_runs(runs, person), "unarchive",
    ),
    "unarchive": Action(
        lambda n: ngettext("Unarchived %(n)s run.", "Unarchived %(n)s runs.", n),
        lambda runs, person, tag: trash.unarchive_runs(runs), "archive",
    ),
    "delete": Action(
        lambda n: ngettext("Moved %(n)s run to the trash.", "Moved %(n)s runs to the trash.", n),
        lambda runs, person, tag: trash.delete_runs(runs, person), "restore", is_stop=True,
    ),
    "restore": Action(
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
    runs = _selected_runs(request, experiment)
    allowed = changeable(request.user, runs)
    if do == "judge":
        complaint = _judge_complaint(request, runs)
    else:
        complaint = _responses_complaint(runs) if do == "responses" else _complaint(do, tag, runs, allowed)
    if not complaint and do not in LINKS and (others := runs.count() - allowed.count()):
        messages.warning(request, _skipped_message(others))
    if complaint:
        messages.error(request, complaint)
    elif do == "compare":
        return redirect(f"{reverse('compare')}?{_comparison(request, experiment, runs).urlencode()}")
    elif do == "responses":
        return redirect(f"{reverse('viewer')}?{_columns(runs).urlencode()}")
    elif do == "judge":
        return redirect(f"{reverse('tournament-new')}?{_tournament(runs).urlencode()}")
    elif do == "cancel":
        if elsewhere := allowed.filter(external__isnull=False, state__in=OPEN).count():
            messages.warning(request, _elsewhere_message(elsewhere))
        stopped = commands.cancel_runs(allowed.filter(external__isnull=True), request.user)
        message = ngettext(
            "Cancelling %(n)s run. It saves a checkpoint first, if it has begun to train.",
            "Cancelling %(n)s runs. Each saves a checkpoint first, if it has begun to train.",
            stopped,
        )
        messages.success(request, message % {"n": stopped})
    else:
        _run_action(request, experiment, do, allowed, tag)
    return back


@require_POST
def runs_undo(request: SignedIn, pk: int) -> HttpResponse:
    """Undo the last bulk change of this session if it is one of this experiment's runs."""
    experiment = visible_experiment(request, pk)
    undo = request.session.get(UNDO)
    if undo is None or undo["experiment"] != pk:
        messages.warning(request, gettext("There is nothing to undo."))
    else:
        del request.session[UNDO]
        runs = changeable(request.user, experiment.runs.filter(pk__in=undo["runs"]))
        undone = ACTIONS[undo["do"]].act(runs, request.user, undo["tag"])
        message = ngettext("Undone for %(n)s run.", "Undone for %(n)s runs.", len(undone))
        messages.success(request, message % {"n": len(undone)})
    return redirect(f"{experiment.get_absolute_url()}?{_state(request).urlencode()}")


def undo_message(request: SignedIn, experiment: Experiment) -> str:
    """Return the message of this session's last change to the experiment's runs; empty if there is nothing to undo."""
    undo = request.session.get(UNDO)
    return str(undo["said"]) if undo and undo["experiment"] == experiment.pk else ""


def _comparison(request: SignedIn, experiment: Experiment, runs: QuerySet[Run]) -> QueryDict:
    """Return the parameters of the compare page: the selected runs by uid, or the query if all runs that match it are
    selected, since thousands of uids do not fit into an address."""
    address = QueryDict(mutable=True)
    if "all" in request.POST:
        address.update({"experiment": str(experiment.pk), "q": _state(request).get("q", "")})
    else:
        address.setlist("run", list(runs.order_by("-pk").values_list("uid", flat=True)))
    return address


def _tournament(runs: QuerySet[Run]) -> QueryDict:
    """Return the parameters of a new tournament of the selected runs that have responses."""
    address = QueryDict(mutable=True)
    address.setlist("run", list(_answered(runs).order_by("-pk").values_list("uid", flat=True)))
    return address


def _answered(runs: QuerySet[Run]) -> QuerySet[Run]:
    return runs.filter(Exists(Response.objects.filter(run=OuterRef("pk")).exclude(split=TRAINING)))


def _columns(runs: QuerySet[Run]) -> QueryDict:
    """Return the parameters of the responses side by side of these runs, the newest first."""
    query = QueryDict(mutable=True)
    query.setlist("run", list(_answered(runs).order_by("-pk").values_list("uid", flat=True)[:MAX_COLUMNS]))
    return query


def _responses_complaint(runs: QuerySet[Run]) -> str:
    """Return the reason why responses of these runs cannot be compared; empty if they can."""
    none = gettext("None of the selected runs has responses yet.")
    many = gettext("Responses of at most %(most)s runs can be compared, not %(n)s: select fewer.")
    return _count_complaint(runs, MAX_COLUMNS, none, many)


def _judge_complaint(request: SignedIn, runs: QuerySet[Run]) -> str:
    """Return the reason why no tournament of these runs can be created; empty if it can."""
    if not may_make(request.user):
        return gettext("Viewers cannot create tournaments.")
    none = gettext("None of the selected runs has responses yet: there is nothing to judge.")
    many = gettext("A tournament can have at most %(most)s runs, not %(n)s: select fewer.")
    return _count_complaint(runs, MAX_JUDGED_RUNS, none, many)


def _count_complaint(runs: QuerySet[Run], most: int, none: str, many: str) -> str:
    """Return `none` if no run has responses, `many` if more than `most` have any, with their number; else nothing."""
    if not runs.exists():
        return gettext("Select at least one run.")
    count = _answered(runs).count()
    if not count:
        return none
    return many % {"most": most, "n": count} if count > most else ""


def _state(request: SignedIn) -> QueryDict:
    return QueryDict(request.POST.get("back", "").removeprefix("?"))


def _selected_runs(request: SignedIn, experiment: Experiment) -> QuerySet[Run]:
    """Return the selected runs, or all runs that match the page's query."""
    if "all" not in request.POST:
        return experiment.runs.filter(deleted_at__isnull=True, uid__in=request.POST.getlist("run"))
    query = parse_table_query(request, experiment, _state(request))
    runs, _ = filter_runs(experiment.runs.filter(deleted_at__isnull=True), query)
    return Run.objects.filter(pk__in=runs.values("pk"))


def _complaint(do: str, tag: str, runs: QuerySet[Run], allowed: QuerySet[Run]) -> str:
    """Return the reason why the action is refused; empty if it is allowed."""
    if do not in ACTION_NAMES:
        return gettext("The action must be one of %(verbs)s, not %(do)r.") % {
            "verbs": ", ".join(ACTION_NAMES),
            "do": do,
        }
    if do in ("tag", "untag") and not 1 <= len(tag) <= TAG_LENGTH:
        return gettext("Enter a tag of 1 to %(n)s characters.") % {"n": TAG_LENGTH}
    if not runs.exists():
        return gettext("Select at least one run.")
    if do == "compare":
        return ""
    return _too_many(do, allowed)


def _too_many(do: str, allowed: QuerySet[Run]) -> str:
    if not allowed.exists():
        return gettext("Only the creator of a run and the owner of its experiment may change it.")
    if allowed.count() > MAX_RUNS:
        return gettext("The query selects more than %(n)s runs: add filters.") % {"n": MAX_RUNS}
    if do in ("cancel", "delete") and allowed.filter(state__in=OPEN).count() > MAX_STOPPED_RUNS:
        message = gettext("More than %(n)s of the selected runs would be cancelled: add filters.")
        return message % {"n": MAX_STOPPED_RUNS}
    return ""


def _run_action(request: SignedIn, experiment: Experiment, do: str, runs: QuerySet[Run], tag: str) -> None:
    changed = ACTIONS[do].act(runs, request.user, tag)
    message = ACTIONS[do].message(len(changed)) % {"n": len(changed), "tag": tag}
    request.session[UNDO] = {
        "experiment": experiment.pk, "do": ACTIONS[do].inverse, "tag": tag, "runs": changed, "said": message,
    }  # fmt: skip


def _elsewhere_message(count: int) -> str:
    message = ngettext(
        "%(n)s selected run trains elsewhere and is only reported here: stop its program where it runs.",
        "%(n)s selected runs train elsewhere and are only reported here: stop their programs where they run.",
        count,
    )
    return message % {"n": count}


def _skipped_message(count: int) -> str:
    message = ngettext(
        "%(n)s selected run is not yours and was not changed.",
        "%(n)s selected runs are not yours and were not changed.",
        count,
    )
    return message % {"n": count}
