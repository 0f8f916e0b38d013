"""A worker whose pool does not end when it stops is ended, so that it can be started again."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.waiting import PATIENCE_SECONDS

STUCK = """
import threading
from celery.bootsteps import RUN
from celery.concurrency.solo import TaskPool
from esweb import celery
celery.STOP_SECONDS = 0.2
TaskPool.on_stop = lambda self: threading.Event().wait()
worker = celery.app.Worker(pool="solo", queues=["nothing"], loglevel="ERROR", without_gossip=True, without_mingle=True)
worker.blueprint.state, worker.blueprint.started = RUN, len(worker.steps)
worker.stop(exitcode=70)
"""


def test_a_worker_whose_pool_does_not_end_is_ended() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STUCK], env=os.environ | {"DJANGO_SETTINGS_MODULE": "esweb.settings"},
        capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "Celery worker did not stop within 0.2 s" in done.stderr
