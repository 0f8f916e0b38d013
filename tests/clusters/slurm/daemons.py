"""Servers that outlive the process that started them. Each has a file with its process, by which it is stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from tests.waiting import PATIENCE_SECONDS, wait_until
from workers.attempt import Process, read_json, write_json


class Daemons:
    """The servers of a folder: `<name>.process.json` identifies a process, `<name>.log` holds its output."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, argv: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        """Start a server in a session of its own, unless it runs already."""
        if self.is_running(name):
            return
        with (self.root / f"{name}.log").open("ab") as log:
            child = subprocess.Popen(
                argv,
                cwd=self.root,
                env={**os.environ, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._children[name] = child
        if (process := Process.at(child.pid)) is not None:
            write_json(self._file(name), asdict(process))

    def adopt(self, name: str, pid: int) -> None:
        """Register a process that another program has started."""
        if (process := Process.at(pid)) is not None:
            write_json(self._file(name), asdict(process))

    def is_running(self, name: str) -> bool:
        """Return whether the same process that was started still runs."""
        return (process := self._process(name)) is not None and process.is_alive()

    def pid(self, name: str) -> int | None:
        """Return the pid of the process, or None if it does not run."""
        process = self._process(name)
        return process.pid if process is not None and process.is_alive() else None

    def send(self, name: str, number: signal.Signals) -> None:
        """Send a signal to the process if it is known."""
        if process := self._process(name):
            process.send(number)

    def stop(self, name: str, number: signal.Signals = signal.SIGTERM) -> None:
        """Send a signal to the process, and wait until it has ended."""
        self.send(name, signal.SIGCONT)
        self.send(name, number)
        wait_until(lambda: not self.is_running(name), f"{name} to end", details=lambda: self.read_log_end(name))
        if child := self._children.pop(name, None):
            child.wait(PATIENCE_SECONDS)
        self._file(name).unlink(missing_ok=True)

    def read_log_end(self, name: str) -> str:
        """Return the last 2000 characters of the server's log."""
        log = self.root / f"{name}.log"
        return log.read_text(errors="replace")[-2000:] if log.exists() else "it wrote no log"

    def names(self) -> list[str]:
        """Return the names of all servers that were started and not stopped."""
        return [file.name.removesuffix(".process.json") for file in self.root.glob("*.process.json")]

    def _file(self, name: str) -> Path:
        return self.root / f"{name}.process.json"

    def _process(self, name: str) -> Process | None:
        return Process.recorded(read_json(self._file(name)))


def kill_processes_with(setting: str) -> None:
    """Kill every process with this setting of a cluster in its environment, except this process and its ancestors."""
    for proc in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_ours = f"\0{setting}\0".encode() in b"\0" + (proc / "environ").read_bytes()
            if is_ours and int(proc.name) not in _own_ancestors():
                os.kill(int(proc.name), signal.SIGKILL)


def _own_ancestors() -> set[int]:
    ancestors, pid = set[int](), os.getpid()
    while pid > 1:
        ancestors.add(pid)
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return ancestors
