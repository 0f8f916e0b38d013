"""Shell for a cluster's own commands. It takes an argv list, never a line for a shell to read."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from workers.executors.base import NotBegun, Unreachable

PASSED_VARIABLES = ("PATH", "HOME", "USER", "LOGNAME")
MAX_ERROR_LENGTH = 500


@dataclass(frozen=True)
class Reply:
    """Result of a command: its exit code and its output."""

    code: int
    out: str
    err: str


class Late(Unreachable):
    """The command did not end in time. `err` is what it had written to its error output until then."""

    def __init__(self, message: str, err: str) -> None:
        super().__init__(message)
        self.err = err


def late(argv: Sequence[str], timeout_seconds: float, err: str) -> Late:
    """Return the exception for a command that did not end in time."""
    words = f": {err.strip()[-MAX_ERROR_LENGTH:]}" if err.strip() else ""
    return Late(f"{argv[0]} did not answer within {timeout_seconds:g} s{words}", err)


class Shell(Protocol):
    """A machine that has the cluster's commands."""

    def run(self, argv: Sequence[str], timeout_seconds: float, text: str = "") -> Reply:
        """Run one command to its end, which reads `text`. Raise Unreachable if it did not start or did not end in
        time."""


@dataclass(frozen=True)
class LocalShell:
    """This machine. A command gets a bare environment: nothing secret, and no SBATCH_* or SQUEUE_* that would overrule
    its arguments."""

    env: Mapping[str, str] = field(default_factory=dict)

    def run(self, argv: Sequence[str], timeout_seconds: float, text: str = "") -> Reply:
        """Run the command. Raise Unreachable."""
        env = (
            {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
            | {"LC_ALL": "C"}
            | dict(self.env)
        )
        try:
            done = subprocess.run(
                argv,
                cwd="/",
                env=env,
                input=text.encode(),
                capture_output=True,
                timeout=timeout_seconds,
                start_new_session=True,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise late(argv, timeout_seconds, (error.stderr or b"").decode(errors="replace")) from error
        except OSError as error:
            raise NotBegun(f"{argv[0]} cannot be run: {error.strerror}") from error
        return Reply(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
