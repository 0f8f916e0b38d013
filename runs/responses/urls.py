"""Addresses of responses: the viewer, collapse, the timeline of a prompt and scores."""

from __future__ import annotations

from django.urls import path
from django.utils.translation import gettext_noop as _

from runs.http import PalettePage, register_pages
from runs.responses.collapse.views import run_collapse, run_collapse_chart
from runs.responses.completions import run_completions
from runs.responses.scoring.views import run_scores, run_scoring_change
from runs.responses.timeline import time_machine, time_machine_chart
from runs.responses.viewer.export import viewer_export
from runs.responses.viewer.views import viewer, viewer_cover, viewer_response, viewer_scatter

register_pages(PalettePage("viewer", _("Compare responses"), is_common=True))

urlpatterns = [
    path("runs/<slug:uid>/collapse/", run_collapse, name="run-collapse"),
    path("runs/<slug:uid>/collapse/chart/", run_collapse_chart, name="run-collapse-chart"),
    path("runs/<slug:uid>/completions/", run_completions, name="run-completions"),
    path("runs/<slug:uid>/scores/", run_scores, name="run-scores"),
    path("runs/<slug:uid>/scores/<int:pk>/", run_scoring_change, name="run-scoring-change"),
    path("runs/<slug:uid>/responses/<int:step>/<slug:digest>/", viewer_response, name="viewer-response"),
    path("responses/", viewer, name="viewer"),
    path("responses/scatter/", viewer_scatter, name="viewer-scatter"),
    path("responses/export/", viewer_export, name="viewer-export"),
    path("responses/cover/", viewer_cover, name="viewer-cover"),
    path("prompts/<slug:digest>/", time_machine, name="time-machine"),
    path("prompts/<slug:digest>/chart/", time_machine_chart, name="time-machine-chart"),
]
