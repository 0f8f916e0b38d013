"""The lock under which everything is written that belongs to one run's series."""

from __future__ import annotations

from django.db import connection


def lock(run_id: int, durable: bool) -> None:
    """One writer a run at a time, so that batch ids grow in commit order and summaries never race.

    Points read from a file need no fsync: should PostgreSQL crash, offset and points are lost together, and whoever
    reads on from a byte that the database no longer knows is refused with OffsetMoved.
    """
    with connection.cursor() as sql:
        if not durable:
            sql.execute("SET LOCAL synchronous_commit TO off")
        sql.execute("SELECT pg_advisory_xact_lock(hashtextextended('ingest', %s))", [run_id])
