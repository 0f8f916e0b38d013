"""The protocol of an executor, and the four ways in which a request to a cluster can fail.

    Unreachable   the cluster did not answer: this says nothing about any job; as NotBegun, it was not even asked
    Rejected      the cluster refused: the job was certainly not submitted
    Postponed     the cluster refused for now: the job was certainly not submitted, and may be later
    Ambiguous     the submit may have worked: look before submitting again

An attempt is known everywhere by its key, `esweb-<run>-a<n>`: job name, directory name and database row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from workers.executors.states import Obstacle, State

KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
STOPPED_BY_ESWEB = "stopped"
"""The native word for a job that was interrupted because esweb itself was stopped."""


class Unreachable(Exception):
    """The cluster did not answer. Nothing is known about any job."""


class NotBegun(Unreachable):
    """The cluster was not reached, so the request has certainly not been carried out."""


class DiskFull(NotBegun):
    """A file of a job could not be written on the cluster, because a disk is full or a quota used up."""


class Rejected(Exception):
    """The cluster refused the job; the message gives its reason. The job was not submitted."""


class Postponed(Rejected):
    """The cluster refused the job for now; the message gives the reason. The job was not submitted."""

    def __init__(self, reason: str, obstacle: Obstacle) -> None:
        super().__init__(reason)
        self.obstacle = obstacle


class Ambiguous(Exception):
    """The submit may have worked. Only `find` can tell whether it did. `obstacle` is set if the job waits for it unless
    the submit worked."""

    def __init__(self, reason: str, obstacle: Obstacle | None = None) -> None:
        super().__init__(reason)
        self.obstacle = obstacle


@dataclass(frozen=True)
class Spec:
    """A job to submit: its key, its directory (which holds run.json), its command and what it needs."""

    key: str
    directory: Path
    argv: tuple[str, ...]
    nodes: int = 1
    """Nodes of the job. Cores, GPUs and memory are those of each. The command runs on one of them."""
    cores: int = 1
    gpus: float = 0
    """GPUs: a whole number, or the fraction of one that the job shares with others."""
    gpu_memory_mb: int = 0
    """Memory of each GPU that the job plans to take, in MB, and no more if it shares the GPU; 0 if that is not
    known."""
    runs_concurrently: bool = False
    """Whether the job's kernels may run beside those of others on the GPU that it shares, and not only in turns: if its
    program crashes, so may theirs."""
    gpu_type: str = ""
    """Type of GPU as the cluster names it; empty for any."""
    memory_mb: int = 0
    time_limit_seconds: float = 0
    grace_seconds: float = 30
    """Between SIGTERM and SIGKILL: the time to save a checkpoint."""
    env: Mapping[str, str] | None = None
    partition: str = ""
    """Partition of a cluster that has several; empty for the default one."""
    goes_first: bool = False
    """Whether it goes before waiting jobs, since it ran when esweb was stopped. Clusters with a queue of their own
    ignore it."""


@dataclass(frozen=True)
class Observation:
    """State of a job as the scheduler reports it now. `native` is the scheduler's own word, `reason` explains why the
    job waits or ended, and `nodes` names its nodes, as far as they are known. `never_starts`: the job waits for
    something that cannot happen as things are."""

    state: State
    native_id: str
    native: str = ""
    reason: str = ""
    nodes: str = ""
    never_starts: bool = False


@dataclass(frozen=True)
class NodeShape:
    """So many equal nodes of a cluster, and what each has in total, used or not. A node that is in several partitions
    counts in each."""

    count: int
    cores: int
    memory_mb: int = 0
    gpus: int = 0
    gpu_type: str = ""
    """Type of the GPUs as the cluster names it; empty if it does not."""
    partition: str = ""
    gpu_shards: int = 0
    """Shards into which Slurm divides the node's GPUs, all together; 0 if it does not divide them."""


class Executor(Protocol):
    """Interface of a cluster that runs attempts. Every method may be called twice with the same effect."""

    trust_running: bool
    """True if RUNNING from this scheduler can be believed without a heartbeat."""

    def node_shapes(self) -> list[NodeShape]:
        """Return the nodes of the cluster, also those that are down for now. Raise Unreachable."""

    def find(self, key: str) -> Observation | None:
        """Return the job of that key, or None if the cluster answered that it has none. Raise Unreachable."""

    def submit(self, spec: Spec) -> str:
        """Submit the job and return its native id. Raise Rejected, Postponed, Ambiguous or Unreachable."""

    def poll(self, keys: Iterable[str]) -> dict[str, Observation | None]:
        """Return the jobs of all keys by one query; None for a job that the cluster does not know. Raise
        Unreachable."""

    def withdraw(self, keys: Sequence[str]) -> None:
        """Remove those of the jobs that wait from the queue, and leave those alone that have begun. Safe to repeat.
        Raise Unreachable."""

    def cancel(self, key: str, grace_seconds: float) -> None:
        """Ask the job to stop, and kill it after the grace. Safe to repeat; never affects another job. Raise
        Unreachable."""
