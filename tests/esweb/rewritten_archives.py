"""Archives of backups with another manifest."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

from esweb.backup.archive import MANIFEST, Manifest


def rewritten(archive: Path, file: Path, rewrite: Callable[[Manifest], str]) -> Path:
    """Write a copy of the archive with another manifest."""
    with tarfile.open(archive) as old, tarfile.open(file, "w") as new:
        for member in old:
            content = old.extractfile(member)
            assert content is not None
            data = content.read()
            if member.name == MANIFEST:
                data = rewrite(Manifest.from_json(data)).encode()
            member.size = len(data)
            new.addfile(member, io.BytesIO(data))
    return file
