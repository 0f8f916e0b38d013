"""Files that pages need, gathered and compressed: again only when one of them has changed, since it takes seconds."""

from __future__ import annotations

import hashlib
from pathlib import Path

from django.contrib.staticfiles.finders import get_finders

from esweb.embedded import CannotStart
from esweb.embedded.child_process import last_line
from esweb.supervisor import Part


class Collecting:
    """`collectstatic` beside us. `folder` is where the files go."""

    def __init__(self, folder: Path, part: Part) -> None:
        self.part, self.marker = part, folder / ".collected"
        self.fingerprint = _fingerprint()

    def start(self) -> None:
        """Begins, unless what lies there is what there is."""
        if not self.marker.exists() or self.marker.read_text(encoding="ascii") != self.fingerprint:
            self.part.start()

    def finish(self) -> None:
        """Waits for the end. Raises CannotStart where it failed."""
        if self.part.process is None:
            return
        if self.part.process.wait() != 0:
            said = last_line(self.part.log)
            raise CannotStart(f"Files for pages could not be collected: {said} ({self.part.log} has more)")
        self.marker.write_text(self.fingerprint, encoding="ascii")


def _fingerprint() -> str:
    """Changes with any file that a page may need."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for name, storage in finder.list([]):
            stat = Path(storage.path(name)).stat()
            digest.update(f"{name} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()
