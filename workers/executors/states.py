"""The states of an attempt, the same on every kind of cluster."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """States of an attempt. CREATED to STOPPING may still change; the others are final."""

    CREATED = "created"
    SUBMITTING = "submitting"
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    OOM = "oom"
    NODE_LOST = "node_lost"
    PREEMPTED = "preempted"
    INTERRUPTED = "interrupted"
    LOST = "lost"
    PARTIAL = "partial"
    """An imported run whose file holds a part of its responses; no job ends in this state."""
    UNKNOWN = "unknown"
    """An imported run whose file is not a log and does not show how it ended; no job ends in this state."""

    @property
    def is_final(self) -> bool:
        """Return whether the attempt has ended and will not change."""
        return self not in OPEN_STATES


OPEN_STATES = frozenset(
    {State.CREATED, State.SUBMITTING, State.QUEUED, State.STARTING, State.RUNNING, State.PAUSED, State.STOPPING}
)


class Obstacle(StrEnum):
    """Thing that a job waits for because a cluster does not accept it now."""

    ROOM = "room"
    """Room for another submitted job: other jobs wait for it too, until one ends."""
    CLUSTER = "cluster"
    """A disk, nodes, a partition or the controller: other jobs wait for it too."""
    UNCLEAR = "unclear"
    """Perhaps nothing: the same words can mean that the job is refused for ever. Other jobs do not wait for it."""
