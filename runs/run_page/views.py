"""Tabs of a run's page whose content other packages provide, and the run's state alone."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import replace_url

from runs.http import SignedIn, page_address, visible_run
from runs.launching.rebuilds import checkpoints_context, request_checkpoint
from runs.launching.storage import storage_context
from runs.responses import RESPONSE_PARAMETERS, responses_context
from runs.run_page.charts.population import population
from runs.run_page.engines import engines_context
from runs.run_page.tabs import state_context, tab_fragment, tab_page


@require_safe
def run_state(request: SignedIn, uid: str) -> HttpResponse:
    """Return the state of the run alone for htmx; redirect other requests to the page of the run."""
    run = visible_run(request, uid)
    if not request.htmx:
        return redirect(run)
    return tab_fragment(request, run, "run_page/state.html", state_context(request, run))


@require_safe
def run_responses(request: SignedIn, uid: str) -> HttpResponse:
    """Render the tab. htmx gets the responses alone. `asked`: a user selected them, so the address is to name them."""
    run = visible_run(request, uid)
    context = responses_context(request, run)
    if not request.htmx:
        return tab_page(request, run, "responses", context)
    response = tab_fragment(request, run, "run_page/responses.html", context)
    if "asked" not in request.GET:
        return response
    params = {name: request.GET[name] for name in RESPONSE_PARAMETERS if request.GET.get(name)}
    located: HttpResponse = replace_url(response, page_address(request, (*RESPONSE_PARAMETERS, "asked"), params))
    return located


@require_safe
def run_weights(request: SignedIn, uid: str) -> HttpResponse:
    """Render the tab: the population of each iteration, and the engines. htmx gets the engines alone."""
    run = visible_run(request, uid)
    engines = engines_context(run)
    if request.htmx:
        return tab_fragment(request, run, "run_page/engines.html", engines)
    return tab_page(request, run, "weights", {**engines, "population": population(run)})


@require_http_methods(["GET", "HEAD", "POST"])
def run_checkpoints(request: SignedIn, uid: str) -> HttpResponse:
    """Render the tab. htmx gets the list alone. A POST requests the checkpoint of a step.

    It is downloaded immediately if it exists; otherwise its rebuild begins.
    """
    run = visible_run(request, uid)
    refusal = request_checkpoint(request, run) if request.method == "POST" else ""
    if isinstance(refusal, HttpResponse):
        return refusal
    if request.htmx:
        context = {"refused": refusal, **checkpoints_context(request, run)}
        return tab_fragment(request, run, "run_page/checkpoints.html", context)
    if request.method == "POST":
        if refusal:
            messages.error(request, refusal)
        return redirect("run-checkpoints", uid)
    context = checkpoints_context(request, run) | storage_context(request, run)
    return tab_page(request, run, "checkpoints", context)
