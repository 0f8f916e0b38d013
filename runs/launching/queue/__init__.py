"""Runs that wait: where, why, and how to hold, release and move them."""

from runs.launching.queue.commands import (
    STARTED_MEANWHILE,
    CannotMove,
    create_moved_attempts,
    hold_run,
    move_run,
    release_run,
)

__all__ = [
    "STARTED_MEANWHILE",
    "CannotMove",
    "create_moved_attempts",
    "hold_run",
    "move_run",
    "release_run",
]
