"""Addresses of the page of a run: its tabs, the parts of it that refresh, and its files."""

from __future__ import annotations

from django.urls import path

from runs.run_page.attempts import run_past
from runs.run_page.config import run_config
from runs.run_page.curves import run_chart, run_curves
from runs.run_page.environment import attempt_code, attempt_packages
from runs.run_page.evaluations import run_evaluations_table
from runs.run_page.log.views import attempt_log_file, run_log, run_log_file
from runs.run_page.overview import run
from runs.run_page.reward_and_gold.views import run_reward_and_gold
from runs.run_page.views import run_checkpoints, run_responses, run_state, run_weights

urlpatterns = [
    path("runs/<slug:uid>/", run, name="run"),
    path("runs/<slug:uid>/curves/", run_curves, name="run-curves"),
    path("runs/<slug:uid>/responses/", run_responses, name="run-responses"),
    path("runs/<slug:uid>/weights/", run_weights, name="run-weights"),
    path("runs/<slug:uid>/log/", run_log, name="run-log"),
    path("runs/<slug:uid>/config/", run_config, name="run-config"),
    path("runs/<slug:uid>/checkpoints/", run_checkpoints, name="run-checkpoints"),
    path("runs/<slug:uid>/state/", run_state, name="run-state"),
    path("runs/<slug:uid>/past/", run_past, name="run-past"),
    path("runs/<slug:uid>/reward-and-gold/", run_reward_and_gold, name="run-reward-and-gold"),
    path("runs/<slug:uid>/chart/", run_chart, name="run-chart"),
    path("runs/<slug:uid>/evaluations/table/", run_evaluations_table, name="run-evaluations-table"),
    path("runs/<slug:uid>/attempts/<int:n>/log.txt", attempt_log_file, name="attempt-log-file"),
    path("runs/<slug:uid>/attempts/<int:n>/requirements.txt", attempt_packages, name="attempt-packages"),
    path("runs/<slug:uid>/attempts/<int:n>/code.pyz", attempt_code, name="attempt-code"),
    path("runs/<slug:uid>/log.txt", run_log_file, name="run-log-file"),
]
