"""URLs of fragments of judging that pages of runs fetch."""

from __future__ import annotations

from django.urls import path

from judging.viewer_integration.annotations import JudgmentAnnotations
from judging.viewer_integration.ratings_table import run_ratings_table
from judging.viewer_integration.views import judging_news, run_ratings
from runs.responses import viewer

viewer.register_source(JudgmentAnnotations())

urlpatterns = [
    path("judging/news/", judging_news, name="judging-news"),
    path("runs/<slug:uid>/ratings/", run_ratings, name="run-ratings"),
    path("runs/<slug:uid>/ratings/table/", run_ratings_table, name="run-ratings-table"),
]
