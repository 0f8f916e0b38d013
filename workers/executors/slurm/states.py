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
    # Also seen in the middle of a requeue, when the result is not known yet.
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
END_TEXTS = {
    State.TIMEOUT: "reached its time limit in Slurm",
    State.OOM: "Slurm killed it: it used more memory than it requested (compute.memory_mb)",
    State.PREEMPTED: "preempted: Slurm stopped it for a job with higher priority",
}


def state_of(word: str, has_node: bool) -> State:
    """Return our state. An unknown word of a later Slurm is no end: such a job waits, or runs if it has a node."""
    # The accounting writes "CANCELLED by 1000".
    return STATES.get(word.partition(" ")[0], State.RUNNING if has_node else State.QUEUED)


def describe_end(state: State, word: str, reason: str, nodes: str) -> str:
    """Return a sentence that explains why a job ended."""
    if state == State.NODE_LOST:
        return f"its node {f'{nodes} ' if nodes else ''}failed (Slurm: {word}, {reason})"
    if state in END_TEXTS:
        return f"{END_TEXTS[state]} (Slurm: {word})"
    text = f"{word}, {reason}" if reason not in ("", "None") else word
    return f"Slurm: {text}" + (f", on {nodes}" if nodes else "")
