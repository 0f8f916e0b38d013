"""Addresses of the pages, and of the parts of them that an open page asks for again."""

from __future__ import annotations

from django.urls import include, path

from runs.views.bin import bin, run_restore
from runs.views.bulk import runs_bulk, runs_undo
from runs.views.checkpoints import run_checkpoint, run_checkpoints, run_rebuild_stop
from runs.views.collapse import run_collapse, run_collapse_chart
from runs.views.compare import compare, compare_chart, compare_section
from runs.views.costs import costs, limit_remove, limit_set
from runs.views.engines import run_engines
from runs.views.experiment import experiment, experiment_chart, experiment_runs
from runs.views.experiment_edit import experiment_edit, experiment_shelve
from runs.views.experiments import experiments
from runs.views.home import home, home_standing
from runs.views.importing import import_files, import_undo
from runs.views.launch import launch, launch_check
from runs.views.lifecycle import experiment_resume, run_cancel, run_resume
from runs.views.log import attempt_log_file, run_log, run_log_file
from runs.views.multiplier import experiment_lambda, experiment_lambda_chart
from runs.views.palette import palette
from runs.views.queue import queue, queue_change, queue_standing
from runs.views.ran_on import attempt_code, attempt_packages
from runs.views.responses import run_responses
from runs.views.run import run, run_chart, run_curves, run_past, run_state
from runs.views.saved_views import saved_view, saved_view_change, saved_views
from runs.views.scores import run_scores, run_scoring_change
from runs.views.services import services
from runs.views.share import share
from runs.views.shared import shared, shared_chart, shared_section
from runs.views.sweep import sweep, sweep_change, sweep_extend, sweep_standing
from runs.views.time_machine import time_machine, time_machine_chart
from runs.views.viewer import viewer, viewer_cover, viewer_scatter
from runs.views.viewer_export import viewer_export
from runs.views.viewer_response import viewer_response

experiment_urls = [
    path("", experiment, name="experiment"),
    path("launch/", launch, name="launch"),
    path("launch/check/", launch_check, name="launch-check"),
    path("resume/", experiment_resume, name="experiment-resume"),
    path("runs/", experiment_runs, name="experiment-runs"),
    path("bulk/", runs_bulk, name="experiment-bulk"),
    path("undo/", runs_undo, name="experiment-undo"),
    path("edit/", experiment_edit, name="experiment-edit"),
    path("shelve/", experiment_shelve, name="experiment-shelve"),
    path("chart/", experiment_chart, name="experiment-chart"),
    path("lambda/", experiment_lambda, name="experiment-lambda"),
    path("lambda/chart/", experiment_lambda_chart, name="experiment-lambda-chart"),
]

run_urls = [
    path("", run, name="run"),
    path("cancel/", run_cancel, name="run-cancel"),
    path("resume/", run_resume, name="run-resume"),
    path("restore/", run_restore, name="run-restore"),
    path("state/", run_state, name="run-state"),
    path("past/", run_past, name="run-past"),
    path("curves/", run_curves, name="run-curves"),
    path("chart/", run_chart, name="run-chart"),
    path("engines/", run_engines, name="run-engines"),
    path("responses/", run_responses, name="run-responses"),
    path("collapse/", run_collapse, name="run-collapse"),
    path("collapse/chart/", run_collapse_chart, name="run-collapse-chart"),
    path("scores/", run_scores, name="run-scores"),
    path("scores/<int:pk>/", run_scoring_change, name="run-scoring-change"),
    path("responses/<int:step>/<slug:digest>/", viewer_response, name="viewer-response"),
    path("checkpoints/", run_checkpoints, name="run-checkpoints"),
    path("checkpoints/<int:step>/", run_checkpoint, name="run-checkpoint"),
    path("checkpoints/<int:step>/stop/", run_rebuild_stop, name="run-rebuild-stop"),
    path("attempts/<int:n>/log.txt", attempt_log_file, name="attempt-log-file"),
    path("attempts/<int:n>/requirements.txt", attempt_packages, name="attempt-packages"),
    path("attempts/<int:n>/code.pyz", attempt_code, name="attempt-code"),
    path("log/", run_log, name="run-log"),
    path("log.txt", run_log_file, name="run-log-file"),
]

sweep_urls = [
    path("", sweep, name="sweep"),
    path("standing/", sweep_standing, name="sweep-standing"),
    path("change/", sweep_change, name="sweep-change"),
    path("extend/", sweep_extend, name="sweep-extend"),
]

compare_urls = [
    path("", compare, name="compare"),
    path("chart/", compare_chart, name="compare-chart"),
    path("section/", compare_section, name="compare-section"),
]

viewer_urls = [
    path("", viewer, name="viewer"),
    path("scatter/", viewer_scatter, name="viewer-scatter"),
    path("export/", viewer_export, name="viewer-export"),
    path("cover/", viewer_cover, name="viewer-cover"),
]

shared_urls = [
    path("", shared, name="shared"),
    path("chart/", shared_chart, name="shared-chart"),
    path("section/", shared_section, name="shared-section"),
]

urlpatterns = [
    path("", include("runs.views.settings.urls")),
    path("", home, name="home"),
    path("standing/", home_standing, name="home-standing"),
    path("experiments/", experiments, name="experiments"),
    path("queue/", queue, name="queue"),
    path("queue/standing/", queue_standing, name="queue-standing"),
    path("queue/<slug:uid>/", queue_change, name="queue-change"),
    path("costs/", costs, name="costs"),
    path("costs/limits/", limit_set, name="limit-set"),
    path("costs/limits/<int:pk>/remove/", limit_remove, name="limit-remove"),
    path("bin/", bin, name="bin"),
    path("import/", import_files, name="import"),
    path("import/undo/", import_undo, name="import-undo"),
    path("views/", saved_views, name="saved-views"),
    path("views/<int:pk>/", saved_view, name="saved-view"),
    path("views/<int:pk>/change/", saved_view_change, name="saved-view-change"),
    path("services/", services, name="services"),
    path("palette/", palette, name="palette"),
    path("experiments/<int:pk>/", include(experiment_urls)),
    path("runs/<slug:uid>/", include(run_urls)),
    path("sweeps/<int:pk>/", include(sweep_urls)),
    path("compare/", include(compare_urls)),
    path("responses/", include(viewer_urls)),
    path("prompts/<slug:digest>/", time_machine, name="time-machine"),
    path("prompts/<slug:digest>/chart/", time_machine_chart, name="time-machine-chart"),
    path("share/", share, name="share"),
    path("shared/<str:text>/", include(shared_urls)),
]
