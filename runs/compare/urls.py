"""URLs of the comparison pages."""

from __future__ import annotations

from django.urls import path
from django.utils.translation import gettext_noop as _

from runs.compare.views import compare, compare_chart, compare_section
from runs.http import PalettePage, register_pages

register_pages(PalettePage("compare", _("Compare runs"), is_common=True))

urlpatterns = [
    path("compare/", compare, name="compare"),
    path("compare/chart/", compare_chart, name="compare-chart"),
    path("compare/section/", compare_section, name="compare-section"),
]
