"""Runs on this machine when esweb stops: asked to save a checkpoint and end, and known as interrupted from then on."""

from __future__ import annotations

from collections.abc import Callable

from django.db import DatabaseError

from runs.launching import reconcile
from workers.executors.base import Unreachable

GRACE_SECONDS = 30.0


def interrupt(tell: Callable[[str], None]) -> None:
    """Stops what runs here, waits for that, notes it. What waits in line stays there for the next start."""
    try:
        if stopped := reconcile.interrupt_local(GRACE_SECONDS):
            tell(f"stopped on this machine, to be resumed: {', '.join(stopped)}")
    except (DatabaseError, Unreachable) as error:
        tell(f"runs on this machine were left alone: {error}")
