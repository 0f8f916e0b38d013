"""The Celery app. Tasks are the functions in the `tasks.py` of each feature."""

from __future__ import annotations

import logging
import os
import threading
from typing import Any

from celery import Celery, bootsteps
from celery.signals import celeryd_init, worker_process_init

from esweb import broker
from esweb.bootstrap import usable_site
from esweb.bootstrap.private_files import create_private_files

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "esweb.settings")
# Django's system checks import every view, which takes a second. A test runs them.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

log = logging.getLogger(__name__)

TASK_PACKAGES = (
    "esweb",
    "judging.boards",
    "judging.boards.panels",
    "judging.judge_runs",
    "judging.tournaments",
    "runs.clusters.connection_test",
    "runs.experiments.trash",
    "runs.flags",
    "runs.importing.server_folders",
    "runs.ingest",
    "runs.launching",
    "runs.responses.collapse",
    "runs.responses.scoring",
)
"""Each package with a module `tasks`: features are no Django apps, which Celery would find automatically."""
STOP_SECONDS = 30.0
"""Longer than `manage.py up` waits for a part that it stops."""

JOB_CONNECT_SECONDS = 15
"""A page gives up after a few seconds, because somebody waits for it. Nobody waits for a job on a busy machine."""

broker.use_transport()
app = Celery("esweb")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(TASK_PACKAGES, related_name="tasks")


@celeryd_init.connect  # type: ignore[untyped-decorator]
def write_private_files(**_: Any) -> None:
    """Let the worker, its processes and the runs that they start on this machine create private files."""
    create_private_files()


@celeryd_init.connect  # type: ignore[untyped-decorator]
def refuse_unusable_site(**_: Any) -> None:
    """Exit with the reason if this code must not use the site."""
    usable_site.exit_if_unusable()


@worker_process_init.connect  # type: ignore[untyped-decorator]
def wait_longer_for_connections(**_: Any) -> None:
    """Let the jobs of this process wait longer than pages for the database to accept a connection."""
    from django.db import connection

    options = connection.settings_dict["OPTIONS"]
    options["connect_timeout"] = max(JOB_CONNECT_SECONDS, int(options.get("connect_timeout", 0)))


class StopDeadline(bootsteps.StartStopStep):  # type: ignore[misc]
    """End a worker that cannot stop, so that it is started again.

    If the queue refuses it, as Valkey does while its disk is full, a worker stops. It then waits for its processes, and
    one that has a result to deliver waits for the worker. Ticks make up for the jobs that are lost.
    """

    requires = {"celery.worker.components:Pool"}  # noqa: RUF012  (Celery's own annotation)

    def stop(self, parent: Any) -> None:
        """Start the timer when the worker begins to stop; the pool of processes stops after this step."""
        timer = threading.Timer(STOP_SECONDS, end_at_last)
        timer.daemon = True
        timer.start()

    terminate = stop


def end_at_last() -> None:
    """End this process immediately."""
    log.error("Celery worker did not stop within %g s; ending its process", STOP_SECONDS)
    os._exit(1)


app.steps["worker"].add(StopDeadline)
