"""Backups and restores that are killed at a chosen step.

`python -m tests.esweb.killed_commands` sets Django up once, then forks a process for each line of its input, which is
[COMMAND, ARCHIVE, DATA, URL of the database or nothing, STEP]. It prints [exit code or the negative number of a signal,
lines that the command printed].
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "esweb.settings")
django.setup()

from django.conf import settings  # noqa: E402
from django.core.management import CommandError, call_command  # noqa: E402
from django.db import connections  # noqa: E402

from esweb import env  # noqa: E402
from esweb.backup import create, restore  # noqa: E402
from esweb.backup.archive import ArchiveWriter  # noqa: E402
from esweb.bootstrap.unfinished_restore import UnfinishedRestore  # noqa: E402
from esweb.embedded import database_url  # noqa: E402
from tests.waiting import PATIENCE_SECONDS  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
CHANGES = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "subprocess.Popen")
"""Python raises these audit events before it changes files or starts a program."""
BACKUP_STEPS: dict[str, tuple[Any, str]] = {
    "database dumped": (create, "dump"),
    "archive filled": (ArchiveWriter, "close"),
}
RESTORE_STEPS: dict[str, tuple[Any, str]] = {
    "folder marked": (UnfinishedRestore, "write"),
    "database marked": (restore, "mark_database"),
    "archive unpacked": (restore, "extract"),
    "database loaded": (restore, "load"),
    "database migrated": (restore, "call_command"),
    "jobs ended": (restore, "end_open_jobs"),
    "first folder placed": (Path, "rename"),
    "files placed": (restore, "place_files"),
    "database unmarked": (restore, "unmark_database"),
}
"""A command is killed after the first call of that function."""


def run_and_die(command: str, archive: str, data: str, url: str, step: str | int) -> None:
    """Run the command in this process, which is killed after the step of that name, or before that change of a file."""
    os.environ.pop("DATABASE_URL", None)
    if url:
        os.environ["DATABASE_URL"] = url
    settings.DATA_DIR, settings.RUNS_DIR = Path(data), Path(data) / "runs"
    settings.DATABASE_URL = url or database_url(Path(data))
    connections.settings = connections.configure_settings({"default": env.database(settings.DATABASE_URL)})
    if isinstance(step, int):
        _kill_before_change(step)
    elif step:
        owner, name = (BACKUP_STEPS | RESTORE_STEPS)[step]
        setattr(owner, name, _killing_after(getattr(owner, name)))
    try:
        call_command(command, Path(archive), stdout=sys.stdout)
    except CommandError as error:
        print(error)
        sys.stdout.flush()
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)


def _killing_after(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> None:
        function(*args, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    return call


def _kill_before_change(number: int) -> None:
    changes = 0

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal changes
        is_reading = event == "open" and not (isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR))
        if event in CHANGES and not is_reading:
            changes += 1
            if changes == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def main() -> None:
    """Fork a process for each line of input."""
    for line in sys.stdin:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.dup2(writer, 1)
            run_and_die(*json.loads(line))
        os.close(writer)
        with os.fdopen(reader) as output:
            lines = output.read().splitlines()
        print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), lines]), flush=True)


class Commands:
    """The process that forks commands, for tests."""

    def __init__(self) -> None:
        argv = [sys.executable, "-m", __name__]
        variables = {name: value for name, value in os.environ.items() if name != "SECRET_KEY"}
        self.process = subprocess.Popen(
            argv, cwd=ROOT, env=variables, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def restore(self, archive: Path, data: Path, url: str, step: str | int = "") -> tuple[int, list[str]]:
        """Restore, killed at a step if one is given. Return the exit code or minus the signal, and the lines."""
        return self._run("restore", archive, data, url, step)

    def back_up(self, archive: Path, data: Path, url: str, step: str = "") -> tuple[int, list[str]]:
        """Back up, killed at a step if one is given. Return the exit code or minus the signal, and the lines."""
        return self._run("backup", archive, data, url, step)

    def _run(self, command: str, archive: Path, data: Path, url: str, step: str | int) -> tuple[int, list[str]]:
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps([command, str(archive), str(data), url, step]), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        assert line, "the process of the commands has ended"
        code, lines = json.loads(line)
        return code, lines

    def end(self) -> None:
        """Close its input, so that it ends."""
        self.process.communicate(timeout=PATIENCE_SECONDS)


if __name__ == "__main__":
    main()
