"""Tabs of the page of a run. Each has its own address; htmx gets only the part of a tab that it replaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs import metrics
from runs.access import may_cancel, may_change_run, may_launch, may_resume
from runs.compare.run_table import quote
from runs.experiments import LAMBDA, RunEditForm
from runs.flags import open_flags
from runs.http import SignedIn
from runs.kinds import EXAMINATIONS
from runs.launching.config_form import can_be_cloned
from runs.models import Run
from runs.run_page.status import status_context

TABS = {
    "overview": ("run", _("Overview")),
    "curves": ("run-curves", _("Curves")),
    "responses": ("run-responses", _("Responses")),
    "weights": ("run-weights", _("Weights and engines")),
    "log": ("run-log", _("Log")),
    "config": ("run-config", _("Config")),
    "checkpoints": ("run-checkpoints", _("Checkpoints")),
}
"""The route and the title of each tab. The kind of a run names those that its page has."""
MOVED_ANCHORS = {
    "curves": "curves curves-title find-curves curve-wall section- chart-",
    "responses": "responses responses-title response-step which against collapse collapse-title",
    "weights": "weights population engines engines-title engines-panel",
    "log": "log log- past attempts attempts-title",
    "config": "config config- find-knobs again-",
    "checkpoints": "checkpoints checkpoints-title checkpoint-",
}
"""Anchors that were on the first page before it had tabs, by the tab that has them now. `chart-` stands for all names
that begin with it. `static/js/moved-anchors.js` opens the tab."""


@dataclass(frozen=True)
class Tab:
    """A tab of the navigation."""

    title: str
    address: str
    is_current: bool
    anchors: str = ""


def tab_page(request: SignedIn, run: Run, name: str, context: Mapping[str, Any]) -> HttpResponse:
    """Return the whole page of a run with this tab, from the template `run_page/tabs/<name>.html`."""
    page = {"run": run, **_head_context(request, run, name), **context}
    return _varying(TemplateResponse(request, f"run_page/tabs/{name}.html", page))


def tab_fragment(request: SignedIn, run: Run, template: str, context: Mapping[str, Any]) -> HttpResponse:
    """Return the part of a tab that htmx replaces. No cache may return it in place of the page of its address."""
    return _varying(TemplateResponse(request, template, {"run": run, **context}))


def state_context(request: SignedIn, run: Run) -> dict[str, Any]:
    """Return the template context of the run's state, with what the user may do."""
    launches = may_launch(request.user, run.experiment)
    return {
        **status_context(run),
        "may_cancel": may_cancel(request.user, run) and run.kind.runs_here,
        "may_resume": may_resume(request.user, run),
        "may_launch": launches,
        "may_clone": launches and can_be_cloned(run),
    }


def _varying(response: HttpResponse) -> HttpResponse:
    patch_vary_headers(response, ["HX-Request", "HX-Target"])
    return response


def _head_context(request: SignedIn, run: Run, name: str) -> dict[str, Any]:
    return {
        **state_context(request, run),
        "tabs": [
            Tab(gettext(title), reverse(route, args=[run.uid]), tab == name, MOVED_ANCHORS.get(tab, ""))
            for tab, (route, title) in ((tab, TABS[tab]) for tab in run.kind.tabs)
        ],
        "examinations": EXAMINATIONS if run.kind.can_be_examined else (),
        "tab_title": "" if name == "overview" else gettext(TABS[name][1]),
        "watch": metrics.cursors([run]),
        "has_lambda": run.series.filter(key=LAMBDA).exists(),
        "open_flags": open_flags([run.pk]).get(run.pk, []),
        "tag_queries": [(tag, urlencode({"q": f"tag:{quote(tag)}"})) for tag in run.tags],
        "edit_form": RunEditForm(instance=run) if may_change_run(request.user, run) else None,
    }  # fmt: skip
