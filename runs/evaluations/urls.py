"""Addresses of the comparison of evaluations."""

from __future__ import annotations

from django.urls import path

from runs.evaluations.views import evaluations_chart, evaluations_page, evaluations_table

urlpatterns = [
    path("experiments/<int:pk>/evaluations/", evaluations_page, name="evaluations"),
    path("experiments/<int:pk>/evaluations/chart/", evaluations_chart, name="evaluations-chart"),
    path("experiments/<int:pk>/evaluations/table/", evaluations_table, name="evaluations-table"),
]
