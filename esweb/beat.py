"""Beat: an app that knows no tasks, and a scheduler for a machine whose clock may be set back, and whose broker may be
away."""

from __future__ import annotations

import logging
import logging.config
import os
from typing import Any

from celery import Celery, beat
from celery.signals import setup_logging
from django.conf import settings

from esweb.bootstrap.private_files import create_private_files
from esweb.middleware.outage_errors import server_of

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "esweb.settings")

log = logging.getLogger(__name__)

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


class Scheduler(beat.Scheduler):  # type: ignore[misc]
    """Celery's own scheduler sends nothing until a clock that was set back has reached the time of its last job."""

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

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        """Queue a job that is due. While the broker is away this logs one line: the job is due again in seconds."""
        try:
            self.apply_async(entry, producer=producer, advance=False)
        except beat.SchedulingError as error:
            log.error(
                "Beat could not queue a job; it is due again in seconds: %s",
                error,
                exc_info=not server_of(error.__context__),
            )
