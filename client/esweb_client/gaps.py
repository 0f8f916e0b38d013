"""Records that a full disk keeps out of a spool: their count, and the file that holds it when nothing else fits."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESERVE_BYTES = 4096
MAX_REASON = 250


@dataclass
class Gap:
    """Records since the first write that failed: those that waited in memory, and those that were dropped.

    `since` and `until` are Unix times of the first and the last failure; `since` is 0 if no write has failed.
    """

    since: float = 0.0
    until: float = 0.0
    reason: str = ""
    waited: int = 0
    waited_values: int = 0
    dropped: int = 0
    dropped_values: int = 0
    is_announced: bool = False
    """Whether an alert about those that were dropped waits behind the other records."""

    def extend(self, reason: str) -> None:
        """Note that a write has failed now."""
        self.until = time.time()
        self.since = self.since or self.until
        self.reason = reason

    def wait(self, values: int) -> None:
        """Count a record that waits in memory."""
        self.waited += 1
        self.waited_values += values

    def drop(self, values: int) -> None:
        """Count a record that is missing for good."""
        self.extend(self.reason)
        self.dropped += 1
        self.dropped_values += values

    def alert(self) -> dict[str, Any]:
        """Return the fields of an alert that says what is missing, or that nothing is."""
        period = describe_period(self.since, self.until)
        why = f" ({self.reason})" if self.reason else ""
        if self.dropped:
            missing = count_records(self.dropped, self.dropped_values)
            message = f"{missing} are missing: the disk of the program{why} and its memory were full {period}."
            return {"level": "error", "message": message}
        waited = count_records(self.waited, self.waited_values)
        message = f"The disk of the program was full {period}{why}: {waited} waited in memory and are stored now."
        return {"level": "info", "message": f"{message} None is missing."}


class Reserve:
    """A file that has its blocks before the disk is full, so that it can be overwritten then. Not for several threads.

    It holds how many records wait in memory, and how the program ended.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = -1

    def open(self) -> bool:
        """Create the file with all its blocks, if it is not open and the disk has them. Return whether it is open."""
        if self._fd >= 0:
            return True
        try:
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
            if os.write(self._fd, _padded({})) == RESERVE_BYTES:
                return True
        except OSError:
            pass
        self.close()
        with contextlib.suppress(OSError):
            self._path.unlink()
        return False

    def write(self, body: dict[str, Any]) -> bool:
        """Replace the content. Return whether it was written."""
        if self._fd < 0:
            return False
        try:
            os.lseek(self._fd, 0, os.SEEK_SET)
            return os.write(self._fd, _padded(body)) == RESERVE_BYTES
        except OSError:
            return False

    def close(self) -> None:
        """Close the file. Safe to call twice."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            with contextlib.suppress(OSError):
                os.close(fd)


def count_values(line: bytes) -> int:
    """Return how many values a record has: the numbers of a metric, the members of a population, else one."""
    try:
        body = json.loads(line)
        return len(body.get("values") or body.get("members") or (1,))
    except (ValueError, AttributeError, TypeError):
        return 1


def count_lost(left: dict[str, Any], stored: int) -> int:
    """Return how many records a program could not store: those in its memory when it ended, and those it had dropped.

    `left` is the content of its reserve; `stored` of the records that waited reached the file or the server after all.
    """
    missing, dropped = max(0, _whole(left.get("waiting")) - stored), _whole(left.get("dropped"))
    if not left.get("announced"):
        return missing + dropped
    # The alert that counts those that were dropped is the last one that waits.
    return missing - 1 + dropped if missing else 0


def lost_alert(left: dict[str, Any], stored: int) -> dict[str, Any] | None:
    """Return an alert about the records that a program could not store; None if none is missing."""
    lost = count_lost(left, stored)
    if not lost:
        return None
    values = _whole(left.get("waiting_values")) + _whole(left.get("dropped_values")) - bool(left.get("announced"))
    period = describe_period(float(left.get("since") or 0.0), float(left.get("until") or 0.0))
    quantity = count_records(lost, values if stored <= 0 else None)
    at_least = "" if left.get("end") else "At least "
    message = f"{at_least}{quantity} are missing: the disk of the program was full {period}, and it ended before there "
    at = float(left.get("until") or time.time())
    return {"t": at, "kind": "alert", "level": "error", "message": f"{message}was room again."}


def count_records(records: int, values: int | None) -> str:
    """Return a count of records, with that of their values if it is known."""
    noun = "record" if records == 1 else "records"
    if values is None:
        return f"{records} {noun}"
    return f"{records} {noun} with {values} {'value' if values == 1 else 'values'}"


def describe_period(since: float, until: float) -> str:
    """Return from when to when, as "from 2026-01-01 10:00:00 to 10:05:00 UTC"."""
    first, last = time.gmtime(since), time.gmtime(max(since, until))
    day = "" if first[:3] == last[:3] else "%Y-%m-%d "
    return f"from {time.strftime('%Y-%m-%d %H:%M:%S', first)} to {time.strftime(f'{day}%H:%M:%S', last)} UTC"


def _padded(body: dict[str, Any]) -> bytes:
    """Return the JSON with spaces after it up to the size of the reserve."""
    end = body.get("end")
    if end:
        body = {**body, "end": {**end, "reason": str(end.get("reason", ""))[:MAX_REASON], "summary": {}}}
    # ASCII, so that the length of the reason bounds its bytes.
    data = json.dumps(body).encode("ascii")
    if len(data) > RESERVE_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return data.ljust(RESERVE_BYTES)


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
