"""Makes sure that what is left of an attempt writes no more, should it live on where nobody sees it."""

from __future__ import annotations

from runs.models import Job
from workers.attempt import CLOSED_EPOCH, raise_lease


def shut_out(job: Job) -> None:
    """Whatever is left of it stops within a beat of the moment it sees this. Safe to repeat. Raises OSError."""
    if job.directory.exists():
        raise_lease(job.directory, CLOSED_EPOCH)
