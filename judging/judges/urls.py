"""Addresses of criteria, their rubrics and gold sets."""

from __future__ import annotations

from django.urls import path

from judging.judges.gold_views import gold_sets
from judging.judges.rubric_views import criteria, criterion, rubric

urlpatterns = [
    path("judging/criteria/", criteria, name="criteria"),
    path("judging/criteria/<slug:slug>/", criterion, name="criterion"),
    path("judging/criteria/<slug:slug>/<int:version>/", rubric, name="rubric"),
    path("judging/gold/", gold_sets, name="gold-sets"),
]
