"""Addresses of judging: those under /vote/ are open to invited voters, all others need an account."""

from __future__ import annotations

from django.urls import include, path

FEATURES = ("tournaments", "boards", "exchange", "judge_runs", "judges", "viewer_integration", "voting")

urlpatterns = [path("", include(f"judging.{feature}.urls")) for feature in FEATURES]
