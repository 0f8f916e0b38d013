"""Addresses of home, experiments, the trash, saved views and the command palette."""

from __future__ import annotations

from django.urls import path
from django.utils.translation import gettext_noop as _

from runs.experiments.bulk import runs_bulk, runs_undo
from runs.experiments.command_palette import palette
from runs.experiments.edit import experiment_edit, experiment_shelve
from runs.experiments.edit_run import run_edit
from runs.experiments.home.first_start import try_preset
from runs.experiments.home.views import home, home_notes, home_status
from runs.experiments.lambda_page.views import experiment_lambda, experiment_lambda_chart
from runs.experiments.line_colours import line_colour
from runs.experiments.list import experiments
from runs.experiments.saved_views.views import saved_view, saved_view_change, saved_views
from runs.experiments.trash.views import run_restore, trash_page
from runs.experiments.views import experiment, experiment_chart, experiment_runs, experiment_table
from runs.http import PalettePage, register_pages

register_pages(
    PalettePage("home", _("Home"), is_common=True),
    PalettePage("experiments", _("Experiments"), is_common=True),
    PalettePage("saved-views", _("Saved views")),
    PalettePage("bin", _("Trash")),
)

urlpatterns = [
    path("experiments/<int:pk>/", experiment, name="experiment"),
    path("experiments/<int:pk>/runs/", experiment_runs, name="experiment-runs"),
    path("experiments/<int:pk>/table/", experiment_table, name="experiment-table"),
    path("line-styles/<int:pk>/colour/", line_colour, name="line-colour"),
    path("experiments/<int:pk>/bulk/", runs_bulk, name="experiment-bulk"),
    path("experiments/<int:pk>/undo/", runs_undo, name="experiment-undo"),
    path("experiments/<int:pk>/edit/", experiment_edit, name="experiment-edit"),
    path("experiments/<int:pk>/shelve/", experiment_shelve, name="experiment-shelve"),
    path("experiments/<int:pk>/chart/", experiment_chart, name="experiment-chart"),
    path("experiments/<int:pk>/lambda/", experiment_lambda, name="experiment-lambda"),
    path("experiments/<int:pk>/lambda/chart/", experiment_lambda_chart, name="experiment-lambda-chart"),
    path("runs/<slug:uid>/edit/", run_edit, name="run-edit"),
    path("runs/<slug:uid>/restore/", run_restore, name="run-restore"),
    path("", home, name="home"),
    path("standing/", home_status, name="home-standing"),
    path("notes/read/", home_notes, name="home-notes"),
    path("try-preset/", try_preset, name="try-preset"),
    path("experiments/", experiments, name="experiments"),
    path("bin/", trash_page, name="bin"),
    path("views/", saved_views, name="saved-views"),
    path("views/<int:pk>/", saved_view, name="saved-view"),
    path("views/<int:pk>/change/", saved_view_change, name="saved-view-change"),
    path("palette/", palette, name="palette"),
]
