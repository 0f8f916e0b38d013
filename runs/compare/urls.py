"""URLs of the comparison pages."""

from __future__ import annotations

from django.urls import path
from django.utils.translation import gettext_noop as _

from runs.compare.sweep_curves import sweep_chart, sweep_curves
from runs.compare.tables import compare_table
from runs.compare.views import compare, compare_chart, compare_section
from runs.http import PalettePage, register_pages

register_pages(PalettePage("compare", _("Compare runs"), is_common=True))

urlpatterns = [
    path("compare/", compare, name="compare"),
    path("compare/chart/", compare_chart, name="compare-chart"),
    path("compare/section/", compare_section, name="compare-section"),
    path("compare/table/", compare_table, name="compare-table"),
    path("sweeps/<int:pk>/curves/", sweep_curves, name="sweep-curves"),
    path("sweeps/<int:pk>/chart/", sweep_chart, name="sweep-chart"),
]
