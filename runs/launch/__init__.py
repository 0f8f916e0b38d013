"""Run -> attempt -> executor: makes runs, submits each attempt once, cancels.

Nothing here enqueues a job: whoever calls it does, on commit.
"""

from runs.launch.cancelling import cancel, request_cancel
from runs.launch.changes import mark, move, since
from runs.launch.clusters import EXECUTORS, Waits, executor_for, waits_of
from runs.launch.creating import create_run, new_attempt
from runs.launch.submitting import submit

__all__ = [
    "EXECUTORS",
    "Waits",
    "cancel",
    "create_run",
    "executor_for",
    "mark",
    "move",
    "new_attempt",
    "request_cancel",
    "since",
    "submit",
    "waits_of",
]
