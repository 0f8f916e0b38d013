"""A script that unpacks each file of a folder as one import does, and prints the cost as JSON.

Arguments: the folder of files, and the folder of temporary files.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "esweb.settings")
django.setup()

from runs.importing import RefusedFile, files_from_path  # noqa: E402
from runs.importing.detect_format import recognise_sources  # noqa: E402


def disk_bytes() -> int:
    """Return how much room open temporary files and what has a name in their folder take on the disk."""
    blocks = sum(path.lstat().st_blocks for path in Path(tempfile.gettempdir()).rglob("*"))
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            if str(descriptor.readlink()).startswith(tempfile.gettempdir()):
                blocks += descriptor.stat().st_blocks
        except OSError:
            continue
    return blocks * 512


def unpack(path: Path) -> dict[str, Any]:
    """Return the largest room that it took, the room left afterwards, what was read and what was not."""
    peak, is_over = 0, threading.Event()

    def sample() -> None:
        nonlocal peak
        while not is_over.wait(0.005):
            peak = max(peak, disk_bytes())

    sampler = threading.Thread(target=sample)
    sampler.start()
    with ExitStack() as keep:
        files = list(files_from_path(path, keep))
        sources, refused = recognise_sources(files)
        for source in sources:
            source.digests(())
        peak = max(peak, disk_bytes())
    is_over.set()
    sampler.join()
    read = sum(not isinstance(file, RefusedFile) for file in files)
    return {
        "peak": peak,
        "left": disk_bytes(),
        "read": read,
        "refused": {refusal.name: refusal.reason for refusal in refused},
    }


tempfile.tempdir = sys.argv[2]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
results = {path.name: unpack(path) for path in sorted(Path(sys.argv[1]).iterdir())}
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(json.dumps({"results": results, "memory_grown": grown * 1024}))
