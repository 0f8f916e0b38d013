"""Requests to another machine over its one connection. A login shell there always reads the same line.

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

from workers.executors.base import DiskFull, NotBegun, Unreachable
from workers.executors.openssh.connection import Connection, bare_environment, describe_error
from workers.executors.openssh.remote_folder import RemoteFolder
from workers.executors.openssh.slots import slot
from workers.executors.shell import Reply, late

AGENT_PROGRAM = Path(__file__).with_name("remote_agent.py")
LINE = 'import json,sys;r=json.loads(sys.stdin.buffer.readline());exec(r["program"],r);r["main"](r["request"])'
MARGIN_SECONDS = 20.0
"""Seconds beyond a command's own time, for the transfer in both directions."""
CONNECTION_LOST = 255
OPEN_SECONDS = 30.0
MAX_CONCURRENT_FETCHES = 2
"""Besides the other commands: sshd lets ten sessions in by one connection."""


@dataclass(frozen=True)
class OpenSsh:
    """A machine behind a connection. `python` is an interpreter there, of which only the standard library is used."""

    connection: Connection
    python: str
    env: Mapping[str, str] = field(default_factory=dict)

    def run(self, argv: Sequence[str], timeout_seconds: float, text: str = "") -> Reply:
        """Run the command on the other machine. Raise NotBegun or Unreachable."""
        request = {"argv": list(argv), "text": text}
        return self.command_reply(argv, self.ask(request, timeout_seconds), timeout_seconds)

    def ask(self, request: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]:
        """Carry out any request of `remote_agent.py`, as one call. Raise NotBegun or Unreachable."""
        mark = secrets.token_hex(8)
        full_request = {**request, "mark": mark, "seconds": timeout_seconds, "env": dict(self.env)}
        text = json.dumps({"program": AGENT_PROGRAM.read_text(encoding="utf-8"), "request": full_request}) + "\n"
        self.connection.create_folder()
        with slot(self.connection.folder, self.connection.name, timeout_seconds):
            self.connection.open()
            return self._call(text.encode(), mark, timeout_seconds)

    def fetch(self, folder: str) -> RemoteFolder:
        """Return the files of a remote folder, to be read one after the other, however large.

        Raise NotBegun or Unreachable.
        """
        mark = secrets.token_hex(8)
        request = {"fetch": folder, "mark": mark, "seconds": OPEN_SECONDS, "env": {}}
        text = json.dumps({"program": AGENT_PROGRAM.read_text(encoding="utf-8"), "request": request}) + "\n"
        self.connection.create_folder()
        self.connection.open()
        resources = ExitStack()
        resources.enter_context(
            slot(self.connection.folder, f"{self.connection.name}.fetch", OPEN_SECONDS, MAX_CONCURRENT_FETCHES)
        )
        try:
            fetched = RemoteFolder(self._argv(), text.encode(), mark, self.connection.access.address.host, resources)
            fetched.begin(OPEN_SECONDS)
        except OSError as error:
            resources.close()
            raise NotBegun(f"ssh cannot be run: {error.strerror}") from error
        return fetched

    def _argv(self) -> list[str]:
        return self.connection.argv(f"exec {shlex.quote(self.python)} -I -S -c {shlex.quote(LINE)}")

    def command_reply(self, argv: Sequence[str], reply: Mapping[str, Any], timeout_seconds: float) -> Reply:
        """Return the command's part of a reply. Raise NotBegun or Unreachable."""
        done = reply["run"]
        if "missing" in done:
            raise NotBegun(f"{argv[0]} cannot be run on {self.connection.access.address}: {done['missing']}")
        if "late" in done:
            raise late(argv, timeout_seconds, str(done.get("err", "")))
        return Reply(int(done["code"]), str(done["out"]), str(done["err"]))

    def _call(self, text: bytes, mark: str, timeout_seconds: float) -> dict[str, Any]:
        done = self._run_ssh(text, timeout_seconds + MARGIN_SECONDS)
        host, errors = self.connection.access.address, done.stderr.decode(errors="replace").strip()
        start = mark.encode() + b" "
        begun, *answers = [line.removeprefix(start) for line in done.stdout.splitlines() if line.startswith(start)] or [
            b""
        ]
        if not begun and 0 < done.returncode < CONNECTION_LOST:
            reason = errors[-300:] or f"it ended with {done.returncode}"
            raise NotBegun(f"{self.python} does not run on {host}: {reason}")
        if not answers:
            raise Unreachable(f"{host}: {describe_error(errors)}")
        return self._read(answers[0])

    def _run_ssh(self, text: bytes, timeout_seconds: float) -> subprocess.CompletedProcess[bytes]:
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
            raise Unreachable(
                f"{self.connection.access.address} did not answer within {timeout_seconds:g} s"
            ) from error
        except OSError as error:
            raise NotBegun(f"ssh cannot be run: {error.strerror}") from error

    def _read(self, line: bytes) -> dict[str, Any]:
        try:
            reply = json.loads(line)
        except ValueError as error:
            raise Unreachable(f"the reply of {self.connection.access.address} cannot be read") from error
        if not isinstance(reply, dict) or "error" in reply:
            reason = reply.get("error") if isinstance(reply, dict) else reply
            is_full = isinstance(reply, dict) and bool(reply.get("full"))
            raise (DiskFull if is_full else Unreachable)(f"on {self.connection.access.address}: {reason}")
        return reply
