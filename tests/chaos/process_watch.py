"""Sees every training that is started, to tell whether one ran twice."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.processes import Resident
from tests.chaos.site_process import House
from workers.attempt import Process

LOOK_SECONDS = 0.1


@dataclass
class Sightings:
    """Who trained in one attempt's directory, and from when to when it was seen, on the clock that nobody moves."""

    first_at: float
    last_at: float
    processes: set[Process] = field(default_factory=set)


class Watch(threading.Thread):
    """Looks until it is stopped. `seen`: attempt's directory -> who trained there."""

    def __init__(self, house: House) -> None:
        super().__init__(daemon=True)
        self.house, self.seen = house, dict[Path, Sightings]()
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            for resident in self.house.living("training"):
                # A training's own helpers have its command line, and no session of their own.
                if resident.leads:
                    self._note(resident)

    def _note(self, resident: Resident) -> None:
        now = time.monotonic()
        sightings = self.seen.setdefault(resident.folder, Sightings(now, now))
        sightings.last_at = now
        sightings.processes.add(resident.process)

    def stop(self) -> None:
        """Returns once it has stopped looking."""
        self._over.set()
        self.join()
