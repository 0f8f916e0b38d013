"""Addresses of launching, sweeps, the queue, checkpoints, costs and limits."""

from __future__ import annotations

from django.urls import path
from django.utils.translation import gettext_noop as _

from runs.http import PalettePage, register_pages
from runs.launching.budgets.views import costs, costs_table, limit_remove, limit_set
from runs.launching.launch_page import launch, launch_check
from runs.launching.queue.views import queue, queue_change, queue_tables
from runs.launching.rebuilds.views import run_checkpoint, run_rebuild_stop
from runs.launching.storage.views import run_free, storage
from runs.launching.sweeps.views import (
    sweep,
    sweep_change,
    sweep_extend,
    sweep_results,
    sweep_status_part,
    sweep_table,
)
from runs.launching.views import experiment_resume, run_cancel, run_resume

register_pages(
    PalettePage("queue", _("Queue")),
    PalettePage("costs", _("Costs and limits")),
    PalettePage("storage", _("Disk space")),
)

urlpatterns = [
    path("experiments/<int:pk>/launch/", launch, name="launch"),
    path("experiments/<int:pk>/launch/check/", launch_check, name="launch-check"),
    path("experiments/<int:pk>/resume/", experiment_resume, name="experiment-resume"),
    path("runs/<slug:uid>/cancel/", run_cancel, name="run-cancel"),
    path("runs/<slug:uid>/resume/", run_resume, name="run-resume"),
    path("runs/<slug:uid>/checkpoints/<int:step>/", run_checkpoint, name="run-checkpoint"),
    path("runs/<slug:uid>/checkpoints/<int:step>/stop/", run_rebuild_stop, name="run-rebuild-stop"),
    path("runs/<slug:uid>/free/", run_free, name="run-free"),
    path("storage/", storage, name="storage"),
    path("sweeps/<int:pk>/", sweep, name="sweep"),
    path("sweeps/<int:pk>/standing/", sweep_status_part, name="sweep-standing"),
    path("sweeps/<int:pk>/results/", sweep_results, name="sweep-results"),
    path("sweeps/<int:pk>/table/", sweep_table, name="sweep-table"),
    path("sweeps/<int:pk>/change/", sweep_change, name="sweep-change"),
    path("sweeps/<int:pk>/extend/", sweep_extend, name="sweep-extend"),
    path("queue/", queue, name="queue"),
    path("queue/standing/", queue_tables, name="queue-standing"),
    path("queue/<slug:uid>/", queue_change, name="queue-change"),
    path("costs/", costs, name="costs"),
    path("costs/table/", costs_table, name="costs-table"),
    path("costs/limits/", limit_set, name="limit-set"),
    path("costs/limits/<int:pk>/remove/", limit_remove, name="limit-remove"),
]
