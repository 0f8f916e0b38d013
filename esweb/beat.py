"""Beat: an app that knows no tasks, and a scheduler for a machine whose clock may be set back, and whose broker may be
away."""

from __future__ import annotations

import logging
import logging.config
import os
import time
from typing import Any

from celery import Celery, beat
from celery.signals import beat_init, setup_logging
from django.conf import settings

from esweb.bootstrap import usable_site
from esweb.bootstrap.private_files import create_private_files
from esweb.middleware.outage_errors import server_of

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "esweb.settings")

log = logging.getLogger(__name__)

REPORT_SECONDS = 60.0
"""The time between two lines about jobs that cannot be queued: several are due every second."""

# Beat sends names of tasks, by the options of the schedule and the settings alone. Without the tasks, the models and
# the views it starts in a quarter of the time.
app = Celery("esweb", fixups=(), set_as_current=False)
app.config_from_object("django.conf:settings", namespace="CELERY")


@setup_logging.connect  # type: ignore[untyped-decorator]
def configure_logging(**_: Any) -> None:
    """Configure logging by the settings, as Django does in the other processes, and let this one create private
    files."""
    create_private_files()
    logging.config.dictConfig(settings.LOGGING)


@beat_init.connect  # type: ignore[untyped-decorator]
def refuse_unusable_site(**_: Any) -> None:
    """Exit with the reason if this code must not use the site: jobs of other code may wait for the queue."""
    usable_site.exit_if_unusable()


class Scheduler(beat.Scheduler):  # type: ignore[misc]
    """Celery's own scheduler sends nothing until a clock that was set back has reached the time of its last job."""

    _unqueued, _reported_at = 0, float("-inf")

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Send the jobs that are due; return the seconds until the next tick."""
        now = self.app.now()
        ahead = [entry for entry in self.schedule.values() if entry.last_run_at > now]
        for entry in ahead:
            entry.last_run_at = now
        if ahead:
            self._heap = None  # it holds times of the old clock, and is rebuilt if it is missing
        wait: float = super().tick(*args, **kwargs)
        return wait

    def adjust(self, n: Any, drift: float = 0.001) -> Any:
        """Return the seconds until a job is due, in which beat sleeps. Celery's own scheduler wakes up 10 ms before,
        and spins until then: most of what beat costs while nothing happens."""
        return super().adjust(n, drift)

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        """Queue a job that is due. If that fails, the job is due again in seconds."""
        try:
            self.apply_async(entry, producer=producer, advance=False)
        except beat.SchedulingError as error:
            if server_of(error.__context__):
                self._report_outage(error)
            else:
                log.exception("Beat could not queue a job; it is due again in seconds")

    def _report_outage(self, error: beat.SchedulingError) -> None:
        """Log one line a minute while the broker is away or its disk is full."""
        self._unqueued += 1
        now = time.monotonic()
        if now - self._reported_at >= REPORT_SECONDS:
            log.error("Beat could not queue jobs (%d); they are due again in seconds: %s", self._unqueued, error)
            self._unqueued, self._reported_at = 0, now
