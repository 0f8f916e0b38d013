"""Watch every training process, to detect whether one ran twice."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests import soak_plugin
from tests.chaos.processes import SiteProcess
from tests.chaos.supervisor import Supervisor
from workers.attempt import Process

POLL_SECONDS = 0.1 if soak_plugin.SECONDS else 0.5
"""Each look at all processes of the machine costs tens of milliseconds."""


@dataclass
class Sightings:
    """The training processes seen in one attempt's directory, and the time of the first and last sight (monotonic)."""

    first_at: float
    last_at: float
    processes: set[Process] = field(default_factory=set)


class TrainingWatch(threading.Thread):
    """A thread that polls until it is stopped. `sightings`: attempt's directory -> the processes that trained there."""

    def __init__(self, supervisor: Supervisor) -> None:
        super().__init__(daemon=True)
        self.supervisor, self.sightings = supervisor, dict[Path, Sightings]()
        self._stop_requested = threading.Event()

    def run(self) -> None:
        while not self._stop_requested.wait(POLL_SECONDS):
            for site_process in self.supervisor.processes("training"):
                # A training's own helpers have its command line, and no session of their own.
                if site_process.leads_session:
                    self._record(site_process)

    def _record(self, site_process: SiteProcess) -> None:
        now = time.monotonic()
        sightings = self.sightings.setdefault(site_process.folder, Sightings(now, now))
        sightings.last_at = now
        sightings.processes.add(site_process.process)

    def stop(self) -> None:
        """Stop the thread and wait for its end."""
        self._stop_requested.set()
        self.join()
