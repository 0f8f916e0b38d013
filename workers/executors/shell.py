"""Where a cluster's own commands are run. An argv list goes in, never a line for a shell to read."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from workers.executors.base import NotBegun, Unreachable

PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME")


@dataclass(frozen=True)
class Answer:
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str


class Shell(Protocol):
    """A machine on which the cluster's commands are."""

    def run(self, argv: Sequence[str], timeout_seconds: float, text: str = "") -> Answer:
        """Runs one command to its end, which reads `text`. Raises Unreachable where it did not start or did not end in
        time."""


@dataclass(frozen=True)
class LocalShell:
    """This machine. A command gets a bare environment: nothing secret, and no SBATCH_* or SQUEUE_* that would overrule
    its arguments."""

    env: Mapping[str, str] = field(default_factory=dict)

    def run(self, argv: Sequence[str], timeout_seconds: float, text: str = "") -> Answer:
        """Runs it. Raises Unreachable."""
        env = {name: os.environ[name] for name in PASSED_ON if name in os.environ} | {"LC_ALL": "C"} | dict(self.env)
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
            raise Unreachable(f"{argv[0]} gave no answer in {timeout_seconds:g} s") from error
        except OSError as error:
            raise NotBegun(f"{argv[0]} cannot be run: {error.strerror}") from error
        return Answer(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
