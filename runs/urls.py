"""Addresses of the pages, and of the fragments that an open page fetches again."""

from __future__ import annotations

from django.urls import include, path

FEATURES = (
    "accounts",
    "clusters",
    "flags",
    "experiments",
    "launching",
    "run_page",
    "responses",
    "compare",
    "evaluations",
    "probes",
    "labels",
    "reward_audits",
    "chart_layouts",
    "sharing",
    "exporting",
    "importing",
    "service_registry",
)

urlpatterns = [path("", include(f"runs.{feature}.urls")) for feature in FEATURES]
