"""A machine behind SSH in this process: its program handles each request, and its commands are those of a fake."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from workers.executors.base import Unreachable
from workers.executors.openssh import OpenSsh, remote_agent
from workers.executors.openssh.remote_folder import RemoteFolder
from workers.executors.openssh.shell import AGENT_PROGRAM, LINE
from workers.executors.shell import LocalShell, Shell


@dataclass(frozen=True)
class InProcessSsh(OpenSsh):
    """Requests go through JSON to the program of the other machine, and `shell` runs the commands in them."""

    shell: Shell = field(default_factory=LocalShell)

    def ask(self, request: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]:
        """Handle files and links first, then the command, then the look. Raise NotBegun or Unreachable."""
        sent = json.loads(json.dumps(request))
        argv, text = sent.pop("argv", None), sent.pop("text", "")
        look = {name: sent.pop(name) for name in ("look", "file_bytes", "bytes") if name in sent}
        try:
            reply = remote_agent.handle(sent)
            if argv:
                done = self.shell.run(argv, timeout_seconds, text)
                reply["run"] = {"code": done.code, "out": done.out, "err": done.err}
            reply |= remote_agent.handle(look)
        except OSError as error:
            raise Unreachable(f"on {self.connection.access.address}: {error.filename}: {error.strerror}") from error
        result: dict[str, Any] = json.loads(json.dumps(reply))
        return result

    def fetch(self, folder: str) -> RemoteFolder:
        """Return the files of a folder, which the same program sends as on another machine, in its own process."""
        request = {"fetch": folder, "mark": "mark", "seconds": 30.0, "env": {}}
        text = json.dumps({"program": AGENT_PROGRAM.read_text(encoding="utf-8"), "request": request}) + "\n"
        argv = [sys.executable, "-I", "-S", "-c", LINE]
        fetched = RemoteFolder(argv, text.encode(), "mark", "far", ExitStack())
        fetched.begin(30.0)
        return fetched
