"""Address of chart layouts."""

from __future__ import annotations

from django.urls import path

from runs.chart_layouts.views import chart_layout

urlpatterns = [path("charts/layout/", chart_layout, name="chart-layout")]
