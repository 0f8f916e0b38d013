"""The spool of one start of a program: a folder with everything that the server will be told.

    <dir>/<run id>/<start id>/meta.json        what registers the start
                              records.0.jsonl  one record a line, without seq: the number of a valid line is its seq
                              state.json       config, summary, name, tags and note, if they changed
                              end.json         how it ended
                              sent.json        how far it was sent; only saves sending it again
                              owner.lock       locked while the program lives

A line is in the system's page cache when `append` returns, so that a killed process loses none. While the disk is full,
lines wait in memory, and are written in their order once there is room.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections import deque
from itertools import islice
from pathlib import Path
from typing import Any

from esweb_client.lines import encode
from esweb_client.locks import lock_file
from esweb_client.notices import warn_once

META, RECORDS, STATE, END, SENT, OWNER = (
    "meta.json",
    "records.0.jsonl",
    "state.json",
    "end.json",
    "sent.json",
    "owner.lock",
)
MAX_WAITING_BYTES = 64 * 1024 * 1024
RETRY_SECONDS = 0.1


class Spool:
    """The open spool of this process. `folder` is None if no disk takes it: then all lines wait in memory."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.lock = threading.RLock()
        self.waiting: deque[bytes] = deque()
        self.waiting_bytes = 0
        self.dropped = 0
        self.is_shared = False
        """Whether processes were forked that append too: then lines are sent only from the file."""
        self._torn = False
        self._retry_at = 0.0
        self._fd = -1
        self._owner = -1
        if folder is not None:
            self._open(folder)

    def _open(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=False)
        self._owner = lock_file(folder / OWNER)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        self._fd = os.open(folder / RECORDS, flags, 0o600)

    def append(self, line: bytes) -> None:
        """Append one line, now or once there is room on the disk. Never raise."""
        with self.lock:
            if not self.waiting and not self._torn:
                try:
                    count = os.write(self._fd, line)
                    if count == len(line):
                        return
                    self._torn = True
                except OSError as error:
                    self._report(error)
            self._wait(line)

    def _wait(self, line: bytes) -> None:
        if self.waiting_bytes + len(line) > MAX_WAITING_BYTES:
            self.dropped += 1
            warn_once("dropped", "the disk is full and so is the memory for waiting records: new records are dropped")
            return
        self.waiting.append(line)
        self.waiting_bytes += len(line)
        self.drain()

    def drain(self, *, now: bool = False) -> None:
        """Write the waiting lines if there is room. Without `now`, a full disk is tried ten times a second at most."""
        with self.lock:
            if not self.waiting or self._fd < 0 or (not now and time.monotonic() < self._retry_at):
                return
            self._retry_at = time.monotonic() + RETRY_SECONDS
            with contextlib.suppress(OSError):
                while self.waiting:
                    self._write_first()
            if not self.waiting and self.dropped:
                message = f"{self.dropped} records were dropped: the disk and the memory for waiting records were full"
                self.dropped = 0
                self.append(encode("alert", {"level": "error", "message": message}))

    def _write_first(self) -> None:
        """Write the first waiting line. Raise OSError."""
        # A torn line ends here, so that it cannot spoil the record after it; readers skip it.
        line = b"\n" + self.waiting[0] if self._torn else self.waiting[0]
        count = os.write(self._fd, line)
        self._torn = count < len(line)
        if self._torn:
            raise OSError("the disk is full")
        self.waiting_bytes -= len(self.waiting.popleft())

    def waiting_lines(self, start: int, count: int) -> list[bytes]:
        """Return waiting lines; none if other processes append to the file too, since its order is not known yet."""
        with self.lock:
            return [] if self.is_shared else list(islice(self.waiting, start, start + count))

    def discard_waiting(self, count: int) -> None:
        """Remove lines that the server has stored, if there is no file that they will be written to."""
        with self.lock:
            while count > 0 and self.waiting:
                self.waiting_bytes -= len(self.waiting.popleft())
                count -= 1

    def write_json(self, name: str, body: Any) -> bool:
        """Write a file of the folder, as a whole or not at all. Return whether it was written."""
        return self.folder is not None and write_json(self.folder / name, body)

    def adopt_in_child(self) -> None:
        """Prepare for use in a forked process: its lines go to the same file, and the parent's waiting ones do not."""
        self.lock = threading.RLock()
        self.waiting, self.waiting_bytes, self.dropped = deque(), 0, 0
        self.is_shared = True

    def close(self) -> None:
        """Write what waits, close the file and release the owner's lock. Safe to call twice."""
        self.drain(now=True)
        with self.lock:
            for fd in (self._fd, self._owner):
                if fd >= 0:
                    with contextlib.suppress(OSError):
                        os.close(fd)
            self._fd = self._owner = -1

    def _report(self, error: OSError) -> None:
        if self._fd >= 0:
            warn_once("disk", f"records wait in memory, because {self.folder} cannot be written: {error.strerror}")


def write_json(path: Path, body: Any) -> bool:
    """Write JSON to a file that only its owner reads, as a whole or not at all. Return whether it was written."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        data = json.dumps(body, ensure_ascii=False, indent=1).encode("utf-8", "replace")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        draft.replace(path)
        return True
    except (OSError, ValueError, TypeError):
        with contextlib.suppress(OSError):
            draft.unlink()
        return False


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a file; empty if there is none or it cannot be read."""
    try:
        body = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return body if isinstance(body, dict) else {}
