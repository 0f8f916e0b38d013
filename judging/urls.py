"""Addresses of judging: what is under /vote/ is open to whoever was invited, all else is for people of the site."""

from __future__ import annotations

from django.urls import include, path

FEATURES = ("tournaments", "boards", "exchange", "judge_runs", "judges", "viewer_integration", "voting")

urlpatterns = [path("", include(f"judging.{feature}.urls")) for feature in FEATURES]
