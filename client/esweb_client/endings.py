"""How the start of a program ended, and what it could not store, as its spool says."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from esweb_client.reader import Cursor, read_entries
from esweb_client.spool import END, RECORDS, RESERVE, STATE, read_json


def read_end(folder: Path) -> dict[str, Any]:
    """Return how a start ended that no process owns any more; interrupted if the program did not say."""
    summary = read_json(folder / STATE).get("summary", {})
    end = read_json(folder / END) or read_json(folder / RESERVE).get("end")
    if isinstance(end, dict) and end:
        return {**end, "summary": {**summary, **end.get("summary", {})}}
    try:
        ended_at = (folder / RECORDS).stat().st_mtime
    except OSError:
        ended_at = time.time()
    reason = "The program ended without finishing the run."
    return {"state": "interrupted", "reason": reason, "ended_at": ended_at, "summary": summary}


def read_left(folder: Path) -> dict[str, Any]:
    """Return what a program stored about the records in its memory, if some were missing in the file; else nothing."""
    left = read_json(folder / RESERVE)
    return left if left.get("waiting") or left.get("dropped") else {}


def count_lines_after(folder: Path, place: Cursor) -> int:
    """Return how many records the file of a spool has after a place. Raise OSError."""
    cursor = place
    while True:
        _, after = read_entries(folder / RECORDS, cursor)
        if after == cursor:
            return cursor.seq - place.seq
        cursor = after
