"""Slurm's words for a job's state -> ours."""

from __future__ import annotations

from workers.executors.states import State

STATES = {
    "PENDING": State.QUEUED,
    "REQUEUED": State.QUEUED,
    "REQUEUE_FED": State.QUEUED,
    "REQUEUE_HOLD": State.QUEUED,
    "RESV_DEL_HOLD": State.QUEUED,
    "SPECIAL_EXIT": State.QUEUED,
    "CONFIGURING": State.STARTING,
    "POWER_UP_NODE": State.STARTING,
    "RUNNING": State.RUNNING,
    "RESIZING": State.RUNNING,
    "SIGNALING": State.RUNNING,
    "SUSPENDED": State.PAUSED,
    "STOPPED": State.PAUSED,
    # Also seen in the middle of a requeue: how it ended is not known yet.
    "COMPLETING": State.STOPPING,
    "STAGE_OUT": State.STOPPING,
    "COMPLETED": State.SUCCEEDED,
    "FAILED": State.FAILED,
    "CANCELLED": State.CANCELLED,
    "REVOKED": State.CANCELLED,
    "TIMEOUT": State.TIMEOUT,
    "DEADLINE": State.TIMEOUT,
    "OUT_OF_MEMORY": State.OOM,
    "NODE_FAIL": State.NODE_LOST,
    "BOOT_FAIL": State.NODE_LOST,
    "LAUNCH_FAILED": State.NODE_LOST,
    "RECONFIG_FAIL": State.NODE_LOST,
    "PREEMPTED": State.PREEMPTED,
}
ENDS = {
    State.TIMEOUT: "reached the time limit that Slurm gave it",
    State.OOM: "Slurm killed it: it used more memory than it had asked for (compute.memory_mb)",
    State.PREEMPTED: "preempted: Slurm gave its place to a job that goes before it",
}


def state_of(word: str, has_node: bool) -> State:
    """Our state. A word of a Slurm to come is no end: such a job waits, or runs where it has a node."""
    # The accounting says "CANCELLED by 1000".
    return STATES.get(word.partition(" ")[0], State.RUNNING if has_node else State.QUEUED)


def end_in_words(state: State, word: str, reason: str, nodes: str) -> str:
    """Why a job ended, for a person."""
    if state == State.NODE_LOST:
        return f"its node {f'{nodes} ' if nodes else ''}failed (Slurm: {word}, {reason})"
    if state in ENDS:
        return f"{ENDS[state]} (Slurm: {word})"
    said = f"{word}, {reason}" if reason not in ("", "None") else word
    return f"Slurm: {said}" + (f", on {nodes}" if nodes else "")
