"""The files of a folder on another machine, read over its connection while they are sent: never whole in memory."""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from typing import IO, Any, cast

from workers.executors.base import Unreachable
from workers.executors.openssh.connection import bare_environment, describe_error


class RemoteFolder:
    """Files of a remote folder. `files` holds names and sizes; `read` returns their bytes, file after file. Must be
    closed."""

    def __init__(self, argv: Sequence[str], request: bytes, mark: str, host: str, resources: ExitStack) -> None:
        self.name, self.files = host, list[tuple[str, int]]()
        self._mark, self._resources = mark.encode() + b" ", resources
        self._errors = resources.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (closed with what is held)
        with tempfile.TemporaryFile() as input_file:
            input_file.write(request)
            input_file.seek(0)
            self._process = subprocess.Popen(
                argv, cwd="/", env=bare_environment(), stdin=input_file, stdout=subprocess.PIPE, stderr=self._errors,
                start_new_session=True,
            )  # fmt: skip
        self._out = cast("IO[bytes]", self._process.stdout)

    def begin(self, timeout_seconds: float) -> None:
        """Read the list of files. Raise Unreachable, and close the folder then."""
        timer = threading.Timer(timeout_seconds, self._process.kill)
        timer.start()
        try:
            self.files = [(str(name), int(size)) for name, size in self._read_listing()]
        except BaseException:
            self.close()
            raise
        finally:
            timer.cancel()

    def read(self, size: int) -> bytes:
        """Read so many of the following bytes; fewer if the remote side has ended."""
        return self._out.read(size)

    def close(self) -> None:
        """End the command. Safe to repeat."""
        self._process.kill()
        self._process.wait()
        self._out.close()
        self._resources.close()

    def _read_listing(self) -> list[list[Any]]:
        """Return the list in the second line with the mark; the first one only reports that the program began."""
        marked = (line.removeprefix(self._mark) for line in self._out if line.startswith(self._mark))
        next(marked, b"")
        reply = json.loads(next(marked, b"null"))
        if reply is None:
            self._errors.seek(0)
            raise Unreachable(f"{self.name}: {describe_error(self._errors.read().decode(errors='replace'))}")
        if "error" in reply:
            raise Unreachable(f"on {self.name}: {reply['error']}")
        return list(reply["fetch"])
