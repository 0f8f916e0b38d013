"""Asks another machine over its one connection. What a login shell there reads is always the same line.

That line starts Python, which reads everything else, names and paths of users too, from its standard input as JSON.
"""

from __future__ import annotations

import json
import secrets
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workers.executors.base import NotBegun, Unreachable
from workers.executors.openssh.connection import Connection, bare_environment, in_words
from workers.executors.openssh.fetching import FarFolder
from workers.executors.openssh.slots import slot
from workers.executors.shell import Answer

THERE = Path(__file__).with_name("there.py")
LINE = 'import json,sys;r=json.loads(sys.stdin.buffer.readline());exec(r["program"],r);r["main"](r["request"])'
MARGIN_SECONDS = 20.0
"""Beyond a command's own time: for the way there and back."""
CONNECTION_LOST = 255
OPEN_SECONDS = 30.0
FETCHES_AT_ONCE = 2
"""Besides the other commands: sshd lets ten sessions in by one connection."""


@dataclass(frozen=True)
class OpenSsh:
    """A machine behind a connection. `python` is an interpreter there, of which only the standard library is used."""

    connection: Connection
    python: str
    env: Mapping[str, str] = field(default_factory=dict)

    def run(self, argv: Sequence[str], timeout_seconds: float, text: str = "") -> Answer:
        """Runs it there. Raises NotBegun or Unreachable."""
        asked = {"argv": list(argv), "text": text}
        return self.answer_of(argv, self.ask(asked, timeout_seconds), timeout_seconds)

    def ask(self, request: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]:
        """Everything that `there.py` can do, in one go. Raises NotBegun or Unreachable."""
        mark = secrets.token_hex(8)
        asked = {**request, "mark": mark, "seconds": timeout_seconds, "env": dict(self.env)}
        text = json.dumps({"program": THERE.read_text(encoding="utf-8"), "request": asked}) + "\n"
        self.connection.make_folder()
        with slot(self.connection.folder, self.connection.name, timeout_seconds):
            self.connection.open()
            return self._answer(text.encode(), mark, timeout_seconds)

    def fetch(self, folder: str) -> FarFolder:
        """The files of a folder there, to be read one after the other, however large.

        Raises NotBegun or Unreachable.
        """
        mark = secrets.token_hex(8)
        request = {"fetch": folder, "mark": mark, "seconds": OPEN_SECONDS, "env": {}}
        text = json.dumps({"program": THERE.read_text(encoding="utf-8"), "request": request}) + "\n"
        self.connection.make_folder()
        self.connection.open()
        held = ExitStack()
        held.enter_context(slot(self.connection.folder, f"{self.connection.name}.fetch", OPEN_SECONDS, FETCHES_AT_ONCE))
        try:
            fetched = FarFolder(self._argv(), text.encode(), mark, self.connection.access.address.host, held)
            fetched.begin(OPEN_SECONDS)
        except OSError as error:
            held.close()
            raise NotBegun(f"ssh cannot be run: {error.strerror}") from error
        return fetched

    def _argv(self) -> list[str]:
        return self.connection.argv(f"exec {shlex.quote(self.python)} -I -S -c {shlex.quote(LINE)}")

    def answer_of(self, argv: Sequence[str], answer: Mapping[str, Any], timeout_seconds: float) -> Answer:
        """What the command of an answer left. Raises NotBegun or Unreachable."""
        done = answer["run"]
        if "missing" in done:
            raise NotBegun(f"{argv[0]} cannot be run on {self.connection.access.address}: {done['missing']}")
        if "late" in done:
            raise Unreachable(f"{argv[0]} gave no answer in {timeout_seconds:g} s")
        return Answer(int(done["code"]), str(done["out"]), str(done["err"]))

    def _answer(self, text: bytes, mark: str, timeout_seconds: float) -> dict[str, Any]:
        done = self._called(text, timeout_seconds + MARGIN_SECONDS)
        host, said = self.connection.access.address, done.stderr.decode(errors="replace").strip()
        start = mark.encode() + b" "
        begun, *answers = [line.removeprefix(start) for line in done.stdout.splitlines() if line.startswith(start)] or [
            b""
        ]
        if not begun and 0 < done.returncode < CONNECTION_LOST:
            why = said[-300:] or f"it ended with {done.returncode}"
            raise NotBegun(f"{self.python} does not run on {host}: {why}")
        if not answers:
            raise Unreachable(f"{host}: {in_words(said)}")
        return self._read(answers[0])

    def _called(self, text: bytes, timeout_seconds: float) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                self._argv(),
                cwd="/",
                env=bare_environment(),
                input=text,
                capture_output=True,
                timeout=timeout_seconds,
                start_new_session=True,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise Unreachable(f"{self.connection.access.address} gave no answer in {timeout_seconds:g} s") from error
        except OSError as error:
            raise NotBegun(f"ssh cannot be run: {error.strerror}") from error

    def _read(self, line: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(line)
        except ValueError as error:
            raise Unreachable(f"the answer of {self.connection.access.address} cannot be read") from error
        if not isinstance(answer, dict) or "error" in answer:
            why = answer.get("error") if isinstance(answer, dict) else answer
            raise Unreachable(f"on {self.connection.access.address}: {why}")
        return answer
