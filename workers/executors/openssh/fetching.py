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
from workers.executors.openssh.connection import bare_environment, in_words


class FarFolder:
    """`files` are names and sizes; `read` gives their bytes, one file after the other. To be closed."""

    def __init__(self, argv: Sequence[str], request: bytes, mark: str, host: str, held: ExitStack) -> None:
        self.name, self.files = host, list[tuple[str, int]]()
        self._mark, self._held = mark.encode() + b" ", held
        self._said = held.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (closed with what is held)
        with tempfile.TemporaryFile() as asked:
            asked.write(request)
            asked.seek(0)
            self._process = subprocess.Popen(
                argv, cwd="/", env=bare_environment(), stdin=asked, stdout=subprocess.PIPE, stderr=self._said,
                start_new_session=True,
            )  # fmt: skip
        self._out = cast("IO[bytes]", self._process.stdout)

    def begin(self, timeout_seconds: float) -> None:
        """Reads what files there are. Raises Unreachable, and is closed then."""
        late = threading.Timer(timeout_seconds, self._process.kill)
        late.start()
        try:
            self.files = [(str(name), int(size)) for name, size in self._answer()]
        except BaseException:
            self.close()
            raise
        finally:
            late.cancel()

    def read(self, size: int) -> bytes:
        """So many bytes of what follows; fewer where the other side has ended."""
        return self._out.read(size)

    def close(self) -> None:
        """Ends the command. Safe to repeat."""
        self._process.kill()
        self._process.wait()
        self._out.close()
        self._held.close()

    def _answer(self) -> list[list[Any]]:
        """Of the second line that bears the mark; the first only says that it was begun."""
        marked = (line.removeprefix(self._mark) for line in self._out if line.startswith(self._mark))
        next(marked, b"")
        said = json.loads(next(marked, b"null"))
        if said is None:
            self._said.seek(0)
            raise Unreachable(f"{self.name}: {in_words(self._said.read().decode(errors='replace'))}")
        if "error" in said:
            raise Unreachable(f"on {self.name}: {said['error']}")
        return list(said["fetch"])
