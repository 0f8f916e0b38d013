"""Addresses of comparison pages."""

from __future__ import annotations

from django.urls import path

from runs.compare.views import compare, compare_chart, compare_section

urlpatterns = [
    path("compare/", compare, name="compare"),
    path("compare/chart/", compare_chart, name="compare-chart"),
    path("compare/section/", compare_section, name="compare-section"),
]
