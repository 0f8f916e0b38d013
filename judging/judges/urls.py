"""Addresses of criteria, their rubrics and gold sets."""

from __future__ import annotations

from django.urls import path
from django.utils.translation import gettext_noop as _

from judging.judges.views import criteria, criterion, gold_sets, rubric
from runs.http import PalettePage, register_pages

register_pages(
    PalettePage("criteria", _("Judging: criteria")),
    PalettePage("gold-sets", _("Judging: gold")),
)

urlpatterns = [
    path("judging/criteria/", criteria, name="criteria"),
    path("judging/criteria/<slug:slug>/", criterion, name="criterion"),
    path("judging/criteria/<slug:slug>/<int:version>/", rubric, name="rubric"),
    path("judging/gold/", gold_sets, name="gold-sets"),
]
