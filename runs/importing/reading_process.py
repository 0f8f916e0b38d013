"""Read uploaded files outside of the web's process, with a limit of CPU-seconds, and return what was read.

A file is a stranger's, and Python runs one thread at a time: reading in the web's process would stop all requests. The
web's process starts a `reading_server` at the first import; it forks a process for each import, which takes
milliseconds.
"""

from __future__ import annotations

import atexit
import json
import logging
import math
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from typing import IO, Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import connection

from runs.importing.budget import Limits, site_limits
from runs.importing.files import MB, File, RefusedFile, window
from runs.importing.run_folders.assemble import KIND
from runs.importing.run_folders.stored import StoredRunFolder
from runs.importing.stored_sources import BEGIN, END, FAILED, SOURCES, Frames, StoredSource

MAX_CONCURRENT = 2
"""Reading processes at once; further imports wait."""
FREE_CPU_SECONDS, CPU_SECONDS_PER_MB = 5, 20
"""CPU-seconds for any import, and for each MB uploaded: reading takes 0.6 for each MB of a log, packed at most 70:1."""
PATIENCE_SECONDS = 30
"""Seconds after an import's limit at which a reading process that does not report its end is given up."""
PROGRAM = "import django; django.setup(); from runs.importing.reading_server import serve; serve({})"
TIME_SIGNALS = {-signal.SIGXCPU, -signal.SIGKILL}

log = logging.getLogger(__name__)


class ReadingFailed(Exception):
    """Error for a fault of ours in the reading process; the message has its traceback."""


class Slots:
    """Slots of reading processes: a user has at most one, so that nobody takes all of them."""

    def __init__(self, count: int) -> None:
        self._count, self._users, self._changed = count, set[int](), threading.Condition()

    @contextmanager
    def slot(self, user: int, seconds: float) -> Iterator[bool]:
        """Wait for a slot at most so long, hold it, and yield whether there is one."""
        with self._changed:
            is_free = self._changed.wait_for(
                lambda: user not in self._users and len(self._users) < self._count, seconds
            )
            if is_free:
                self._users.add(user)
        try:
            yield is_free
        finally:
            with self._changed:
                if is_free:
                    self._users.discard(user)
                self._changed.notify_all()


class _Server:
    """The server process of this process, started when it is needed first, or after it has ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    @property
    def pid(self) -> int:
        """Return its process id; 0 if it is not running."""
        return self._process.pid if self._process is not None and self._process.poll() is None else 0

    def submit(self, files: Sequence[int]) -> int:
        """Start a reading process with these open files, and return the end of a pipe that tells how it ended."""
        ours, theirs = os.pipe()
        try:
            with self._lock:
                try:
                    socket.send_fds(self._connection(), [b"r"], [theirs, *files])
                except (BrokenPipeError, ConnectionResetError):
                    self._close()
                    socket.send_fds(self._connection(), [b"r"], [theirs, *files])
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        return ours

    def stop(self) -> None:
        """End the server, which ends its reading processes."""
        with self._lock:
            self._close()

    def _connection(self) -> socket.socket:
        if self._socket is None or not self.pid:
            self._close()
            self._socket, theirs = socket.socketpair()
            command = (sys.executable, "-c", PROGRAM.format(theirs.fileno()))
            path = os.pathsep.join(filter(None, (str(settings.BASE_DIR), os.environ.get("PYTHONPATH", ""))))
            with theirs:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    env={**os.environ, "DJANGO_SETTINGS_MODULE": "esweb.settings", "PYTHONPATH": path},
                )
        return self._socket

    def _close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(PATIENCE_SECONDS)
        self._socket = self._process = None


slots = Slots(MAX_CONCURRENT)
server = _Server()
atexit.register(server.stop)


def read_uploads(
    uploads: Sequence[UploadedFile[Any]], names: Sequence[str], user: int, sizes: Iterable[int], stack: ExitStack
) -> tuple[list[StoredSource], list[RefusedFile]]:
    """Return (sources, refused files) of a user's uploads with these names, which can be used until `stack` is closed.

    sizes: those of earlier imports with whose content the files are compared. The database's connection goes back to
    the pool meanwhile. Raise ReadingFailed.
    """
    limits = site_limits()
    total = sum(upload.size or 0 for upload in uploads)
    seconds = min(settings.IMPORT_CPU_SECONDS, FREE_CPU_SECONDS + math.ceil(CPU_SECONDS_PER_MB * total / MB))
    request = {
        "uploads": [(name, upload.size or 0) for name, upload in zip(names, uploads, strict=True)],
        "sizes": list(sizes),
        "limits": asdict(limits),
        "cpu_seconds": seconds,
        "memory_mb": settings.IMPORT_MEMORY_MB,
    }
    if not connection.in_atomic_block:
        connection.close()
    files = [_open_file(upload, stack) for upload in uploads]
    with slots.slot(user, limits.seconds) as has_slot:
        if not has_slot:
            reason = "was not read: other imports are being read; try again later"
            return [], [RefusedFile(name, reason) for name in names]
        exchange, spool, start, result = _run(json.dumps(request).encode(), files, limits, stack)
    return _load(Frames(exchange, start), [spool, *files], names, _describe_end(result, seconds, limits))


def _open_file(upload: UploadedFile[Any], stack: ExitStack) -> IO[bytes]:
    """Return the upload as a file that another process can read: small ones are in memory."""
    with suppress(OSError, AttributeError):
        upload.fileno()
        upload.flush()
        return upload
    copy = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
    upload.seek(0)
    copy.writelines(upload.chunks())
    copy.flush()
    return copy


def _run(
    request: bytes, uploads: Sequence[IO[bytes]], limits: Limits, stack: ExitStack
) -> tuple[IO[bytes], IO[bytes], int, dict[str, Any]]:
    """Run a reading process. Return (exchange, spool, offset of the first frame, how the process ended)."""
    for _ in range(2):
        exchange, spool = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))  # noqa: SIM115
        exchange.write(request)
        exchange.flush()
        result = _wait(server.submit([file.fileno() for file in (exchange, spool, *uploads)]), limits)
        if result:
            return exchange, spool, len(request), result
        # The server has ended, as if somebody killed it; the next one reads the uploads again.
    raise ReadingFailed("the server of reading processes ends again and again; its error output has more")


def _wait(pipe: int, limits: Limits) -> dict[str, Any]:
    """Wait for the end of a reading process, and return how it ended; an empty dict if its server has ended."""
    with os.fdopen(pipe, "rb") as ended:
        if not select.select([ended], [], [], limits.seconds + PATIENCE_SECONDS)[0]:
            return {"code": -signal.SIGALRM}
        result: dict[str, Any] = json.loads(ended.read() or b"{}")
    return result


def _describe_end(result: dict[str, Any], seconds: int, limits: Limits) -> str:
    """Return why the process ended before it had read everything; an empty text if it did not."""
    code = result["code"]
    if code == 0:
        return ""
    if code == -signal.SIGALRM:
        return f"took more than {limits.seconds} s (ESWEB_IMPORT_SECONDS)"
    if code in TIME_SIGNALS and result["cpu_seconds"] >= seconds - 1:
        return f"took more than {seconds} CPU-seconds (at most {settings.IMPORT_CPU_SECONDS}, ESWEB_IMPORT_CPU_SECONDS)"
    log.error("reading process ended with exit code %s", code)
    return f"ended its process ({signal.Signals(-code).name if code < 0 else f'exit code {code}'})"


def _load(
    frames: Frames, places: Sequence[IO[bytes]], names: Sequence[str], reason: str
) -> tuple[list[StoredSource], list[RefusedFile]]:
    """Return the sources in the frames, and the refused files. `reason`: why the process was killed; empty if not."""
    sources, refused = list[StoredSource](), list[RefusedFile]()
    is_listed, current = False, -1
    for kind, offset in frames:
        if kind == FAILED:
            raise ReadingFailed(frames.load(offset))
        if kind == SOURCES:
            is_listed = True
            described, refusals = frames.load(offset)
            sources = [_source(description, frames, places) for description in described]
            refused = [RefusedFile(name, reason, what, tuple(names)) for name, reason, what, names in refusals]
        elif kind == BEGIN:
            current += 1
        elif kind == END:
            vars(sources[current]).update(frames.load(offset), is_whole=True)
        else:
            sources[current].at.append((kind, offset))
    if not is_listed:
        return [], [RefusedFile(name, f"cannot be read: reading this import {reason}") for name in names]
    for number, source in enumerate(sources):
        if not source.is_whole:
            subject = "reading this file" if number <= current else "it was not read, since a file before it"
            source.error = f"{subject} {reason}"
    return sources, refused


def _source(description: dict[str, Any], frames: Frames, places: Sequence[IO[bytes]]) -> StoredSource:
    files = [
        File(name, path, size, window(places[number], start, size), description["modified_at"])
        for name, path, size, number, start in description["files"]
    ]
    stored = StoredRunFolder if description["kind"] == KIND else StoredSource
    return stored(**(description | {"files": files}), frames=frames)
