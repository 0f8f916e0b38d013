"""Addresses of judges and their assignments."""

from __future__ import annotations

from django.urls import path
from django.utils.translation import gettext_noop as _

from judging.judge_runs.judge_views import judge, judge_change, judge_edit, judge_new, judges
from judging.judge_runs.views import assignment_change, tournament_judges, tournament_judges_progress
from runs.http import PalettePage, register_pages

register_pages(PalettePage("judges", _("Judging: model judges")))

urlpatterns = [
    path("judging/judges/", judges, name="judges"),
    path("judging/judges/new/", judge_new, name="judge-new"),
    path("judging/judges/<int:pk>/", judge, name="judge"),
    path("judging/judges/<int:pk>/edit/", judge_edit, name="judge-edit"),
    path("judging/judges/<int:pk>/change/", judge_change, name="judge-change"),
    path("judging/assignments/<int:pk>/change/", assignment_change, name="assignment-change"),
    path("judging/<int:pk>/judges/", tournament_judges, name="tournament-judges"),
    path("judging/<int:pk>/judges/standing/", tournament_judges_progress, name="tournament-judges-standing"),
]
