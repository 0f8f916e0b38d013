"""What every executor can do, and the three ways in which asking a cluster can go wrong.

    Unreachable   the cluster did not answer: this says nothing about any job; as NotBegun, it was not even asked
    Rejected      the cluster refused: the job was certainly not submitted
    Ambiguous     the submit may have worked: look before submitting again

An attempt is known everywhere by its key, `esweb-<run>-a<n>`: job name, directory name and database row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from workers.executors.states import State

KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
STOPPED_BY_ESWEB = "stopped"
"""The native word for a job that was interrupted because esweb itself was stopped."""


class Unreachable(Exception):
    """The cluster did not answer. Nothing is known about any job."""


class NotBegun(Unreachable):
    """The cluster was not reached, so that what it was to be asked has certainly not been done."""


class Rejected(Exception):
    """The cluster refused the job, and says why. It was not submitted."""


class Ambiguous(Exception):
    """The submit may have worked. Only `find` can tell."""


@dataclass(frozen=True)
class Spec:
    """A job to submit: its key, its directory (which holds run.json), its command and what it needs."""

    key: str
    directory: Path
    argv: tuple[str, ...]
    cores: int = 1
    gpus: int = 0
    memory_mb: int = 0
    time_limit_seconds: float = 0
    grace_seconds: float = 30
    """Between SIGTERM and SIGKILL: the time to save a checkpoint."""
    env: Mapping[str, str] | None = None
    partition: str = ""
    """Of a cluster that has several; empty takes the one by default."""


@dataclass(frozen=True)
class Observation:
    """What the scheduler says about a job now. `native` is its own word, `reason` why the job waits or ended, `nodes`
    where it was placed, as far as is told. `never_starts`: it waits for what will not be, as it stands."""

    state: State
    native_id: str
    native: str = ""
    reason: str = ""
    nodes: str = ""
    never_starts: bool = False


class Executor(Protocol):
    """A place where attempts run. Every method may be called twice with the same effect."""

    trust_running: bool
    """True where RUNNING from this scheduler can be believed without a heartbeat."""

    def find(self, key: str) -> Observation | None:
        """The job of that key, or None where the cluster answered that it has none. Raises Unreachable."""

    def submit(self, spec: Spec) -> str:
        """Submits and returns the native id. Raises Rejected, Ambiguous or Unreachable."""

    def poll(self, keys: Iterable[str]) -> dict[str, Observation | None]:
        """All attempts in one question; None where the cluster answered that it knows none. Raises Unreachable."""

    def cancel(self, key: str, grace_seconds: float) -> None:
        """Asks the job to stop, kills it after the grace. Safe to repeat; never hits a stranger. Raises Unreachable."""
