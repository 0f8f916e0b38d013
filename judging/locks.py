"""Locks that let only one process do a job at a time, and the maximum duration of such a job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

MAX_SECONDS = 200


@contextmanager
def run_alone(name: str) -> Iterator[bool]:
    """Take the lock of this name and yield True, or yield False immediately if another process has it.

    It is an advisory lock of the database connection: it ends with a process that is killed.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtext(%s))", [name])
        (is_taken,) = cursor.fetchone()
    try:
        yield is_taken
    finally:
        if is_taken:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(hashtext(%s))", [name])
