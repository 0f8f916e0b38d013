"""Runs that wait: where, why, and how to hold, release and move them."""

from runs.launching.queue.commands import CannotMove, create_moved_attempts, hold_run, move_run, release_run

__all__ = [
    "CannotMove",
    "create_moved_attempts",
    "hold_run",
    "move_run",
    "release_run",
]
