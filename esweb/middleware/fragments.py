"""Addresses of fragments lead to their pages if a browser opens them.

A page fetches its parts from addresses of their own, by htmx. Such an address may be opened directly, from a new tab,
the browser's history or a message; alone, the part has no layout.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from runs.http import FILES, FORMS

PAGES = {
    "compare-chart": ("compare", ""),
    "compare-section": ("compare", ""),
    "evaluations-chart": ("evaluations", ""),
    "experiment-chart": ("experiment", "compared-title"),
    "experiment-lambda-chart": ("experiment-lambda", ""),
    "experiment-runs": ("experiment", "runs-now"),
    "home-standing": ("home", ""),
    "import-folder-list": ("import-folders", "server-folders"),
    "judging-news": ("home", "judging-news"),
    "palette": ("home", ""),
    "probes-chart": ("probes", ""),
    "queue-standing": ("queue", ""),
    "run-audit": ("run", "reward-audit"),
    "run-audit-chart": ("run", "chart-reward-audit"),
    "run-chart": ("run-curves", ""),
    "run-collapse-chart": ("run-collapse", ""),
    "run-ratings": ("run", "ratings"),
    "settings-cluster-test-steps": ("settings-cluster", "cluster-test"),
    "shared-chart": ("shared", ""),
    "shared-section": ("shared", ""),
    "sweep-chart": ("sweep", "sweep-curves"),
    "sweep-curves": ("sweep", "sweep-curves"),
    "sweep-results": ("sweep", "results"),
    "sweep-standing": ("sweep", ""),
    "time-machine-chart": ("time-machine", ""),
    "tournament-board-chart": ("tournament-board", ""),
    "tournament-board-history-chart": ("tournament-board-history", ""),
    "tournament-judges-standing": ("tournament-judges", ""),
    "tournament-leaders": ("tournament", ""),
    "tournament-standing": ("tournament", ""),
    "viewer-scatter": ("viewer", "scatter"),
    "vote-turns": ("vote", ""),
}
"""The page of each route of a fragment, with the id of the element that the fragment fills. Both routes take the same
arguments."""
PART_PARAMETERS = ("name", "section")
"""Parameters that select a part of a page. The page does not read them."""


class FragmentPages:
    """Redirect a browser that opens the address of a fragment to the page, with the same parameters."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: object, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        """Return the redirect; None if the request is for a file or for another route, or by htmx or a script."""
        match = request.resolver_match
        if match is None or match.view_name not in PAGES or not _is_opened(request):
            return None
        route, element = PAGES[match.view_name]
        query = request.GET.copy()
        for name in PART_PARAMETERS:
            query.pop(name, None)
        # The viewer has a parameter of this name too, with other values.
        query.setlist("as", [value for value in query.pop("as", []) if value not in FORMS])
        end = f"?{query.urlencode()}" if query.urlencode() else ""
        return redirect(f"{reverse(route, args=args, kwargs=kwargs)}{end}{'#' if element else ''}{element}")


def _is_opened(request: HttpRequest) -> bool:
    """Return whether a browser opens the address as a page: only then it asks for text/html by name."""
    is_page = "text/html" in request.headers.get("Accept", "") and "HX-Request" not in request.headers
    return is_page and request.method == "GET" and not set(FILES) & set(request.GET.getlist("as"))
