"""The first tab of a run's page: its flags, its headline metrics with their charts, its evaluations and probes."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from runs import metrics
from runs.flags.views import flags_context
from runs.http import SignedIn, chart_controls, visible_run
from runs.metrics import headline_of_run, resolve_fallbacks
from runs.models import Run
from runs.responses.viewer.views import is_covered
from runs.reward_audits import reward_audit_context
from runs.run_page.config import changed_settings
from runs.run_page.curves import named_charts
from runs.run_page.evaluations import evaluations_context
from runs.run_page.external import program_facts
from runs.run_page.probes import probes_context
from runs.run_page.reward_and_gold.views import reward_and_gold_context
from runs.run_page.tabs import tab_fragment, tab_page
from runs.run_page.tiles import read_tiles

MAX_CHARTS = 4
MOVED = {
    "run-responses": ("step", "which", "against", "prompts"),
    "run-log": ("log_attempt", "log_find", "log_from", "log_until", "log_after", "log_before", "log_line"),
}
"""Parameters that once belonged to this address, by the tab that has them now: bookmarks still have them."""


@require_safe
def run(request: SignedIn, uid: str) -> HttpResponse:
    """Render the tab. htmx gets the part that it replaces: the charts, or flags and tiles."""
    run = visible_run(request, uid)
    for route, names in MOVED.items():
        if any(name in request.GET for name in names):
            return redirect(f"{reverse(route, args=[uid])}?{request.GET.urlencode()}")
    if request.htmx and request.htmx.target == "key-charts":
        return tab_fragment(request, run, "run_page/key_charts.html", _charts_context(request, run))
    flags = _flags_context(request, run)
    if request.htmx:
        return tab_fragment(request, run, "run_page/summary.html", {**flags, "tiles": read_tiles(run)})
    # The tiles come with the state, which every tab shows.
    context = {
        **flags, **_charts_context(request, run), **evaluations_context(run, request.user),
        **probes_context(run, request.user), **reward_audit_context(run, request.user), **reward_and_gold_context(run),
        "changed_settings": changed_settings(run), "program": program_facts(run),
    }  # fmt: skip
    return tab_page(request, run, "overview", context)


def _flags_context(request: SignedIn, run: Run) -> dict[str, Any]:
    flags = flags_context(request, run)
    return {**flags, "flags_covered": flags["flags"].may_disturb and is_covered(request)}


def _charts_context(request: SignedIn, run: Run) -> dict[str, Any]:
    keys = metrics.keys(run)
    headline = resolve_fallbacks((metric.key for metric in headline_of_run(run) if metric.key in keys), keys)
    controls = chart_controls(request)
    charts = named_charts(run, keys, headline, controls)[:MAX_CHARTS]
    return {"charts": charts, "known_keys": keys, "key_count": len(keys), "controls": controls}
