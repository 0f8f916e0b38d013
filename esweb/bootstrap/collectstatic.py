"""Collect and compress the files that pages need, only if one of them has changed, since it takes seconds."""

from __future__ import annotations

import hashlib
from pathlib import Path

from django.contrib.staticfiles.finders import get_finders

from esweb.embedded import CannotStart
from esweb.embedded.child_process import last_line
from esweb.supervisor import Part


class StaticCollection:
    """`collectstatic` in a process of its own. `folder` is its target."""

    def __init__(self, folder: Path, part: Part) -> None:
        self.part, self.marker = part, folder / ".collected"
        self.fingerprint = _fingerprint()

    def start(self) -> None:
        """Start, unless the collected files are up to date."""
        if not self.marker.exists() or self.marker.read_text(encoding="ascii") != self.fingerprint:
            self.part.start()

    def finish(self) -> None:
        """Wait for the end. Raise CannotStart if it failed."""
        if self.part.process is None:
            return
        if self.part.process.wait() != 0:
            reason = last_line(self.part.log)
            raise CannotStart(f"Static files could not be collected: {reason} (see {self.part.log})")
        self.marker.write_text(self.fingerprint, encoding="ascii")


def _fingerprint() -> str:
    """Return a fingerprint that changes with any file that a page may need."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for name, storage in finder.list([]):
            stat = Path(storage.path(name)).stat()
            digest.update(f"{name} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()
