"""Views of the queue: the running and the waiting runs of all clusters, and the buttons that change them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Page
from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_POST, require_safe

from runs.access import changeable, may_cancel
from runs.http import SignedIn, page_of, require_choice, visible_run
from runs.launching.commands import cancel_run
from runs.launching.queue.commands import CannotMove, hold_run, move_run, release_run
from runs.launching.queue.queries import Entry, entry_of, order_attempts, queued_attempts
from runs.metrics import cursors
from runs.models import Attempt, Cluster, Run
from workers.config import ConfigError

ROWS_A_PAGE = 50
OWNER_CHOICES = {"all": _("Everybody's"), "mine": _("Mine")}


@require_safe
def queue(request: SignedIn) -> HttpResponse:
    """Render the whole page."""
    return TemplateResponse(request, "launching/queue.html", _context(request))


@require_safe
def queue_tables(request: SignedIn) -> HttpResponse:
    """Render the two tables alone, to refresh a page that is open while runs change."""
    return TemplateResponse(request, "launching/queue.html#standing", _context(request))


@require_POST
def queue_change(request: SignedIn, uid: str) -> HttpResponse:
    """Cancel, hold, release or move a run, as `do` in the form says. A move takes the cluster's name in `cluster`.

    Raise PermissionDenied if the user may not cancel the run, and Http404 for an unknown `do`.
    """
    run = visible_run(request, uid)
    if not may_cancel(request.user, run):
        raise PermissionDenied
    if (verb := VERBS.get(request.POST.get("do", ""))) is None:
        raise Http404(f"do must be one of {', '.join(VERBS)}")
    try:
        messages.success(request, verb(request, run))
    except CannotMove as error:
        messages.warning(request, f"{error}.")
    except ConfigError as error:
        messages.error(request, "; ".join(map(str, error.problems)))
    back = request.POST.get("back", "")
    return redirect(f"{reverse('queue')}?{back}" if back else reverse("queue"))


def _context(request: SignedIn) -> dict[str, Any]:
    clusters = list(Cluster.objects.order_by("name"))
    owner = require_choice(request, "whose", OWNER_CHOICES, "all")
    cluster_name = require_choice(request, "cluster", ["", *(cluster.name for cluster in clusters)], "")
    condition = Q(created_by=request.user) | Q(experiment__owner=request.user) if owner == "mine" else Q()
    attempts = queued_attempts(Run.objects.visible_to(request.user).filter(condition), cluster_name)
    going = page_of(request, order_attempts(attempts, going=True), ROWS_A_PAGE, "going")
    waiting = page_of(request, order_attempts(attempts, going=False), ROWS_A_PAGE, "waiting")
    runs = [attempt.run for attempt in (*going, *waiting)]
    run_ids = {run.pk for run in runs}
    changeable_ids = set(changeable(request.user, Run.objects.filter(pk__in=run_ids)).values_list("pk", flat=True))
    return {
        "going": going, "waiting": waiting, "going_rows": _rows(going, changeable_ids),
        "waiting_rows": _rows(waiting, changeable_ids), "clusters": clusters, "where": cluster_name, "whose": owner,
        "whose_choices": {name: gettext(words) for name, words in OWNER_CHOICES.items()}, "watch": cursors(runs),
        "silent": [cluster for cluster in clusters if cluster.unreachable_since_at is not None],
    }  # fmt: skip


def _rows(page: Page[Attempt], changeable_runs: set[int]) -> list[tuple[Entry, bool]]:
    """Return each attempt's entry, and whether this user may change its run."""
    return [(entry_of(attempt), attempt.run_id in changeable_runs) for attempt in page]


def _cancel(request: SignedIn, run: Run) -> str:
    cancel_run(run, request.user)
    return gettext("Cancel of %(name)s requested. It saves a checkpoint first if it has started.") % {"name": run.name}


def _hold(request: SignedIn, run: Run) -> str:
    hold_run(run, request.user)
    return gettext("%(name)s is held and starts only after a user releases it.") % {"name": run.name}


def _release(request: SignedIn, run: Run) -> str:
    release_run(run, request.user)
    if run.sweep is None:
        message = gettext("%(name)s goes to its cluster.")
    elif run.sweep.paused_at is None:
        message = gettext("%(name)s waits for its turn in its sweep.")
    else:
        message = gettext("%(name)s waits until its sweep is resumed.")
    return message % {"name": run.name}


def _move(request: SignedIn, run: Run) -> str:
    name = request.POST.get("cluster", "")
    move_run(run, name, request.user)
    message = gettext(
        "%(name)s moves to %(cluster)s. It is cancelled on its cluster first and starts on %(cluster)s after that is "
        "confirmed."
    )
    return message % {"name": run.name, "cluster": name}


VERBS: dict[str, Callable[[SignedIn, Run], str]] = {
    "cancel": _cancel,
    "hold": _hold,
    "release": _release,
    "move": _move,
}
