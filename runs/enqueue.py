"""Send Celery tasks by their names, so that the sender does not import the code of the task."""

from __future__ import annotations

from celery import current_app
from django.db import transaction


def send(name: str, pk: int, *, retry: bool = True) -> None:
    """Send the task `runs.jobs.<name>`, for the row with this primary key. Raise OperationalError of kombu."""
    current_app.send_task(f"runs.jobs.{name}", (pk,), retry=retry)


def on_commit(name: str, pk: int) -> None:
    """Send a task as soon as the transaction is committed.

    A queue that cannot be reached is logged: the next tick then does the work, and the run is not lost.
    """

    # A function, not a partial: Django logs the `__qualname__` of a hook that fails.
    def send_now() -> None:
        send(name, pk)

    transaction.on_commit(send_now, robust=True)
