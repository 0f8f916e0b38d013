"""Addresses of the results of probes."""

from __future__ import annotations

from django.urls import path

from runs.probes.views import probes_chart, probes_page, probes_table

urlpatterns = [
    path("experiments/<int:pk>/probes/", probes_page, name="probes"),
    path("experiments/<int:pk>/probes/chart/", probes_chart, name="probes-chart"),
    path("experiments/<int:pk>/probes/table/", probes_table, name="probes-table"),
]
