"""The room on the disks where a site stores its data, for every page, `/healthz` and the terminal of `up`.

A disk is low while less than a tenth of it is free, or less than ESWEB_LOW_DISK_MB if that is smaller. It is full while
less than 16 MB is free, which PostgreSQL needs for its next file, or a twentieth of a small disk.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from esweb import embedded
from esweb.embedded.postgres import WAL_SEGMENT_BYTES

log = logging.getLogger(__name__)

CHECK_SECONDS = 5.0
ANSWER_SECONDS = 0.2
"""The time that a reader waits for disks to answer. A frozen disk of a network delays nobody: its room is as before."""
LOW_PART, FULL_PART = 10, 20
RUNS, DATABASE, VALKEY, LOGS = "runs", "database", "valkey", "logs"
CONTENTS = {RUNS: _("the runs"), DATABASE: _("the database"), VALKEY: _("Valkey"), LOGS: _("the logs")}
"""What a folder stores -> its name in a sentence."""


@dataclass(frozen=True)
class Disk:
    """A file system. `folders`: what is stored there -> its folder. `has_files`: another file can be created."""

    folders: dict[str, Path]
    free: int
    total: int
    has_files: bool = True

    @property
    def is_full(self) -> bool:
        """Return whether writes fail, or soon will."""
        return not self.has_files or self.free < min(WAL_SEGMENT_BYTES, self.total // FULL_PART)

    @property
    def is_low(self) -> bool:
        """Return whether little is left, or nothing."""
        return self.is_full or self.free < min(settings.LOW_DISK_MB * 2**20, self.total // LOW_PART)

    @property
    def contents(self) -> str:
        """Return what is stored there, in words."""
        return ", ".join(gettext(CONTENTS[name]) for name in self.folders)

    @property
    def paths(self) -> str:
        """Return the folders, for admins alone."""
        return ", ".join(str(folder) for folder in self.folders.values())

    @property
    def room(self) -> str:
        """Return how much is free, in words."""
        if not self.has_files:
            return gettext("it takes no more files")
        return gettext("%(free)s of %(total)s free") % {"free": _size(self.free), "total": _size(self.total)}


def site_folders() -> dict[str, Path]:
    """Return what this machine stores -> its folder. External servers store their data elsewhere."""
    data = settings.DATA_DIR
    folders = {RUNS: Path(settings.RUNS_DIR)}
    if embedded.database_url(data) == settings.DATABASE_URL:
        folders[DATABASE] = data / "postgres"
    if embedded.redis_url(data) == settings.REDIS_URL:
        folders[VALKEY] = data / "valkey"
    return folders | {LOGS: data / "logs"}


def measure_disks() -> list[Disk]:
    """Return the disks of the site's folders. Raise OSError if one of them cannot be measured."""
    by_device: dict[int, dict[str, Path]] = {}
    for name, folder in site_folders().items():
        by_device.setdefault(_existing(folder).stat().st_dev, {})[name] = folder
    return [_disk(folders) for folders in by_device.values()]


def _disk(folders: dict[str, Path]) -> Disk:
    stat = os.statvfs(_existing(next(iter(folders.values()))))
    # Some file systems do not count files.
    has_files = stat.f_files == 0 or stat.f_favail > 0
    return Disk(folders, stat.f_bavail * stat.f_frsize, stat.f_blocks * stat.f_frsize, has_files)


def _existing(folder: Path) -> Path:
    """Return the folder, or its nearest parent that exists."""
    return next((path for path in (folder, *folder.parents) if path.exists()), folder)


class DiskWatch:
    """The disks as they were a few seconds ago."""

    def __init__(self, measure: Callable[[], list[Disk]] = measure_disks) -> None:
        self._measure = measure
        self._lock = threading.Lock()
        self._disks: list[Disk] = []
        self._measured_at = float("-inf")
        self._thread: threading.Thread | None = None

    def scarce(self) -> list[Disk]:
        """Return the disks that are low or full."""
        self._refresh()
        return [disk for disk in self._disks if disk.is_low]

    def state(self) -> str:
        """Return ok, low or full: the worst of all disks."""
        scarce = self.scarce()
        if any(disk.is_full for disk in scarce):
            return "full"
        return "low" if scarce else "ok"

    def is_full(self, name: str) -> bool:
        """Return whether the disk that stores this is full."""
        return any(disk.is_full and name in disk.folders for disk in self.scarce())

    def _refresh(self) -> None:
        with self._lock:
            is_fresh = time.monotonic() - self._measured_at < CHECK_SECONDS
            if is_fresh or (self._thread is not None and self._thread.is_alive()):
                return
            # The thread is a daemon, so that a frozen disk does not keep the process from ending.
            self._thread = thread = threading.Thread(target=self._run, name="disk room", daemon=True)
            thread.start()
        thread.join(ANSWER_SECONDS)

    def _run(self) -> None:
        try:
            self._disks = self._measure()
        except OSError as error:
            log.warning("The room on the disks could not be measured; trying again in %g s: %s", CHECK_SECONDS, error)
        self._measured_at = time.monotonic()


watch = DiskWatch()


def scarce_disks(request: HttpRequest) -> dict[str, object]:
    """Return the context of all pages: the disks that are low or full, looked up by pages that show them."""
    return {"scarce_disks": watch.scarce}


def _size(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count / 1000:.0f} kB"
