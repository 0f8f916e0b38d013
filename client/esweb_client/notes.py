"""Alerts about a spool whose program has ended. No line of its file has them, so they are sent after the last one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from esweb_client.endings import count_lines_after
from esweb_client.gaps import lost_alert
from esweb_client.reader import Cursor, Entry

PROBE_DISTANCE = 10_000_000
"""Records after the last one of a spool, at whose seq a push is refused with the seq that the server expects."""


class Notes:
    """The alerts that the server does not have yet. `left` is what the program stored of the records in its memory."""

    def __init__(self, left: dict[str, Any]) -> None:
        self._alerts: list[dict[str, Any]] = []
        self._left = left

    @property
    def is_empty(self) -> bool:
        """Return whether the server has all of them."""
        return not (self._alerts or self._left)

    def add(self, message: str) -> None:
        """Add a warning."""
        self._alerts.append({"t": time.time(), "kind": "alert", "level": "warning", "message": message})

    def remove_first(self, count: int) -> None:
        """Remove those that the server has stored."""
        del self._alerts[:count]

    def entries(self, folder: Path, after: Cursor, server_seq: int | None) -> list[Entry]:
        """Return the records to send after the last one of the file, or one that makes the server name the seq that it
        expects, if that is not known. Raise OSError.

        The server may have more records than the file: those that it got from the memory of the program.
        """
        if self.is_empty:
            return []
        if server_seq is None:
            probe = {"t": time.time(), "kind": "alert", "level": "info", "message": ""}
            return [Entry(after.seq + PROBE_DISTANCE, -1, probe)]
        if self._left:
            place = Cursor(self._left.get("offset", after.offset))
            in_file = count_lines_after(folder, place)
            if alert := lost_alert(self._left, in_file + max(0, server_seq - after.seq)):
                self._alerts.append(alert)
            self._left = {}
        start = max(after.seq, server_seq)
        return [Entry(start + number, -1, alert) for number, alert in enumerate(self._alerts)]
