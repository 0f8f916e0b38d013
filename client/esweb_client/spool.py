"""The spool of one start of a program: a folder with everything that the server will be told.

    <dir>/<run id>/<start id>/meta.json        what registers the start
                              records.0.jsonl  one record a line, without seq: the number of a valid line is its seq
                              state.json       config, summary, name, tags and note, if they changed
                              end.json         how it ended
                              sent.json        how far it was sent; only saves sending it again
                              reserve.json     how many records wait in memory; can be written on a full disk
                              owner.lock       locked while the program lives

A line is in the system's page cache when `append` returns, so that a killed process loses none. While the disk is full,
lines and files wait in memory, and are written in their order once there is room.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import threading
import time
from collections import deque
from itertools import islice
from pathlib import Path
from typing import Any

from esweb_client.gaps import Gap, Reserve, count_values
from esweb_client.lines import encode
from esweb_client.locks import lock_file
from esweb_client.notices import say, warn_once

META, RECORDS, STATE, END, SENT, RESERVE, OWNER = (
    "meta.json",
    "records.0.jsonl",
    "state.json",
    "end.json",
    "sent.json",
    "reserve.json",
    "owner.lock",
)
MAX_WAITING_BYTES = 64 * 1024 * 1024
RETRY_SECONDS = 0.02
NOTICE_SECONDS = 60.0
"""Seconds between two warnings of a disk that is full again and again, and two alerts that nothing is missing."""


class Spool:
    """The open spool of this process. `folder` is None if no disk takes it: then all lines wait in memory."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.lock = threading.RLock()
        self.waiting: deque[bytes] = deque()
        self.waiting_bytes = self.waiting_values = 0
        self.gap = Gap()
        self.is_shared = False
        """Whether processes were forked that append too: then lines are sent only from the file."""
        self._values: deque[int] = deque()
        self._unwritten: dict[str, Any] = {}
        self._reserve: Reserve | None = None
        self._torn = self._is_closed = False
        self._retry_at = 0.0
        self._warned_at = self._reported_at = float("-inf")
        self._fd = -1
        self._owner = -1
        if folder is not None:
            self._open(folder)

    def _open(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=False)
        try:
            self._owner = lock_file(folder / OWNER)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
            self._fd = os.open(folder / RECORDS, flags, 0o600)
        except OSError:
            self.close()
            # Nothing is in it, and a folder without records would look like a start that lost them.
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self._reserve = Reserve(folder / RESERVE)
        self._reserve.open()

    def append(self, line: bytes) -> None:
        """Append one line, now or once there is room on the disk. Never raise."""
        with self.lock:
            if not self.waiting:
                try:
                    self._write(line)
                except OSError as error:
                    self._note_failure(error)
                else:
                    if self._unwritten:
                        self.drain()
                    return
            self._wait(line)

    def _write(self, line: bytes) -> None:
        """Append the line as a whole. Raise OSError after what was written of it is cut off, or made a torn line."""
        data = b"\n" + line if self._torn else line
        count = os.write(self._fd, data)
        if count == len(data):
            self._torn = False
            return
        was_torn, self._torn = self._torn, True
        if not self.is_shared:
            os.ftruncate(self._fd, os.fstat(self._fd).st_size - count)
            self._torn = was_torn
        elif count == len(data) - 1:
            # All but its end is there, with which the next line begins.
            return
        # A torn line ends with the beginning of the next one, so that it cannot spoil that; readers skip it.
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _wait(self, line: bytes) -> None:
        values = count_values(line)
        if self.waiting_bytes + len(line) > MAX_WAITING_BYTES:
            self._write_waiting()
        if self._is_closed:
            warn_once("closed", "the run has ended: what is logged after its end is dropped")
        elif self.waiting_bytes + len(line) > MAX_WAITING_BYTES:
            self.gap.drop(values)
            warn_once("dropped", "the disk is full and so is the memory for waiting records: new records are dropped")
        else:
            self._enqueue(line, values)
            self.drain()

    def _enqueue(self, line: bytes, values: int) -> None:
        self.gap.wait(values)
        self.waiting.append(line)
        self._values.append(values)
        self.waiting_bytes += len(line)
        self.waiting_values += values

    def _dequeue(self) -> None:
        self.waiting_bytes -= len(self.waiting.popleft())
        self.waiting_values -= self._values.popleft()

    def drain(self, *, now: bool = False) -> None:
        """Write what waits if there is room. Without `now`, a full disk is tried fifty times a second at most."""
        with self.lock:
            is_due = now or time.monotonic() >= self._retry_at
            if is_due and (self.waiting or self._unwritten or self.gap.since):
                self._write_waiting()
                if self._fd >= 0 and not self.waiting:
                    self._note_room(now=now)

    def _write_waiting(self) -> None:
        if self._fd < 0:
            return
        self._retry_at = time.monotonic() + RETRY_SECONDS
        if self._reserve is not None:
            self._reserve.open()
        for name, body in list(self._unwritten.items()):
            self.write_json(name, body)
        try:
            while self.waiting:
                self._write(self.waiting[0])
                self._dequeue()
        except OSError as error:
            self._note_failure(error)

    def _note_failure(self, error: OSError) -> None:
        """Store how many records wait, and warn of the write that failed, once a minute at most."""
        if self._fd < 0:
            return
        self.gap.extend(error.strerror or str(error))
        self._save_gap()
        if time.monotonic() - self._warned_at >= NOTICE_SECONDS:
            self._warned_at = time.monotonic()
            say(
                f"{self.folder} cannot be written: {self.gap.reason}. Up to {MAX_WAITING_BYTES // 2**20} MB of records "
                "wait in memory until there is room; they are lost if the program is killed before that."
            )

    def _note_room(self, *, now: bool) -> None:
        """Append an alert of what is missing, or once a minute at most that nothing is, after all lines are written."""
        gap = self.gap
        if gap.since and (gap.dropped or now or time.monotonic() - self._reported_at >= NOTICE_SECONDS):
            self._reported_at = time.monotonic()
            self.gap = Gap()
            if (gap.waited or gap.dropped) and not gap.is_announced:
                self.append(encode("alert", gap.alert()))
        self._save_gap()

    def settle(self) -> None:
        """Append the alert of what is missing for good, before the run ends, also if it has to wait in memory."""
        with self.lock:
            self.drain(now=True)
            if self.gap.dropped and not self.gap.is_announced:
                self._enqueue(encode("alert", self.gap.alert()), 1)
                self.gap.is_announced = True

    @property
    def left(self) -> dict[str, Any]:
        """Return how many records wait or were dropped, and how the program ended if that has no file of its own."""
        gap = self.gap
        return {
            "waiting": len(self.waiting), "waiting_values": self.waiting_values, "dropped": gap.dropped,
            "dropped_values": gap.dropped_values, "announced": gap.is_announced, "since": gap.since,
            "until": gap.until, "end": self._unwritten.get(END),
        }  # fmt: skip

    def _save_gap(self) -> None:
        """Store what is left, with the size of the file: records after it were written later."""
        if self._reserve is not None and self._fd >= 0 and self._reserve.open():
            self._reserve.write({**self.left, "offset": os.fstat(self._fd).st_size})

    def waiting_lines(self, start: int, count: int) -> list[bytes]:
        """Return waiting lines; none if other processes append to the file too, since its order is not known yet."""
        with self.lock:
            return [] if self.is_shared else list(islice(self.waiting, start, start + count))

    def discard_waiting(self, count: int) -> None:
        """Remove lines that the server has stored, if there is no file that they will be written to."""
        with self.lock:
            while count > 0 and self.waiting:
                self._dequeue()
                count -= 1

    def write_json(self, name: str, body: Any) -> bool:
        """Write a file of the folder, as a whole or not at all: then again once there is room. Return whether it was
        written."""
        if self.folder is None:
            return False
        with self.lock:
            self._unwritten[name] = body
            try:
                _replace_json(self.folder / name, body)
            except OSError as error:
                self._note_failure(error)
                return False
            del self._unwritten[name]
            return True

    def adopt_in_child(self) -> None:
        """Prepare for use in a forked process: its lines go to the same file, and the parent's waiting ones do not."""
        self.lock = threading.RLock()
        self.waiting, self.waiting_bytes, self._values, self.waiting_values = deque(), 0, deque(), 0
        self.gap, self._unwritten, self._reserve = Gap(), {}, None
        self.is_shared = True

    def close(self) -> None:
        """Write what waits, store how much still does, close the files and release the lock. Safe to call twice."""
        with self.lock:
            if self.waiting or self._unwritten:
                self._write_waiting()
            self._save_gap()
            if self._reserve is not None:
                self._reserve.close()
            for fd in (self._fd, self._owner):
                if fd >= 0:
                    with contextlib.suppress(OSError):
                        os.close(fd)
            self._fd = self._owner = -1
            self._is_closed = True


def write_json(path: Path, body: Any) -> bool:
    """Write JSON to a file that only its owner reads, as a whole or not at all. Return whether it was written."""
    try:
        _replace_json(path, body)
    except OSError:
        return False
    return True


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a file; empty if there is none or it cannot be read."""
    try:
        body = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return body if isinstance(body, dict) else {}


def _replace_json(path: Path, body: Any) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    data = json.dumps(body, ensure_ascii=False, indent=1).encode("utf-8", "replace")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
