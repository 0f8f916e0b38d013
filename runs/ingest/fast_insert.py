"""Store a push of metric records in one trip to the database, in two statements: check the writer, insert the rows.

This handles nearly every push: the next records of a file, or only known ones, with a token of that run. In all other
cases it writes nothing and returns None, and `push` handles the request in full.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

import psycopg
from django.db import connections
from django.db.backends.postgresql.base import DatabaseWrapper
from django.utils import timezone
from psycopg.types.numeric import Int8

from runs import metrics
from runs.access import GRANTS, USED_EVERY, digest
from runs.ingest.columnar import Columns
from runs.ingest.metrics import EVALUATED, SUMMARISE, summary
from runs.ingest.writer import PushResult
from runs.metrics import live

# This query returns one row or none. `is_worn`: the last use of the token must be stored again.
WRITER = """
SELECT token.id AS token_id, attempt.id AS attempt_id, attempt.n, run.id AS run_id, run.uid,
       coalesce(token.last_used_at < %(noted_before)s, true) AS is_worn
FROM runs_apitoken token
JOIN auth_user person ON person.id = token.user_id AND person.is_active
JOIN runs_run run ON run.id = token.run_id AND run.deleted_at IS NULL
JOIN runs_experiment experiment ON experiment.id = run.experiment_id AND experiment.deleted_at IS NULL
    AND (person.is_superuser OR NOT experiment.is_private OR experiment.owner_id = person.id)
JOIN runs_attempt attempt ON attempt.run_id = run.id AND attempt.key = %(key)s
WHERE token.digest = %(digest)s AND token.scope = ANY(%(scopes)s) AND token.expires_at > %(now)s
"""


def writer(token: str, key: str) -> dict[str, str | datetime | list[str]]:
    """Return the parameters of the statement WRITER, for this token and the attempt with this key."""
    now = timezone.now()
    scopes = list(GRANTS["ingest"])
    return {"digest": digest(token), "key": key, "scopes": scopes, "now": now, "noted_before": now - USED_EVERY}


# This is a separate statement, because the next one must see rows that were committed while this one waited.
LOCK = f"""
SELECT pg_advisory_xact_lock(hashtextextended('ingest', run_id)) FROM ({WRITER}) AS writer
"""  # noqa: S608  (both are ours; what comes from outside is a parameter)
MAY_WRITE = f"""
SELECT EXISTS (SELECT FROM runs_apitoken WHERE digest = %(digest)s), EXISTS ({WRITER})
"""  # noqa: S608
PUSH = f"""
WITH writer AS MATERIALIZED ({WRITER}),
known AS MATERIALIZED (
    SELECT file.id, file.next_seq FROM runs_recordfile file JOIN writer USING (attempt_id) WHERE epoch = %(epoch)s
),
moved AS (
    UPDATE runs_recordfile file SET next_seq = %(next_seq)s FROM known
    WHERE file.id = known.id AND known.next_seq = %(first_seq)s
    RETURNING file.attempt_id
),
made AS (
    INSERT INTO runs_recordfile (attempt_id, epoch, "offset", next_seq)
    SELECT attempt_id, %(epoch)s, 0, %(next_seq)s FROM writer WHERE %(first_seq)s = 0 AND NOT EXISTS (SELECT FROM known)
    RETURNING attempt_id
),
standing AS MATERIALIZED (
    SELECT writer.*,
           GREATEST((SELECT max(id) FROM runs_batch WHERE run_id = writer.run_id),
                    (SELECT max(cursor) FROM runs_chunk WHERE run_id = writer.run_id), 0) AS previous,
           NOT EXISTS (SELECT FROM runs_recordfile f JOIN runs_attempt a ON a.id = f.attempt_id
                       WHERE a.run_id = writer.run_id AND (a.n, f.epoch) > (writer.n, %(epoch)s) AND f.next_seq > 0
           ) AS is_newest
    FROM writer WHERE attempt_id IN (SELECT attempt_id FROM moved UNION ALL SELECT attempt_id FROM made)
),
batch AS (
    INSERT INTO runs_batch (run_id, attempt_id, epoch, first_seq, last_seq, keys, data)
    SELECT run_id, attempt_id, %(epoch)s, %(first_seq)s, %(next_seq)s - 1, %(keys)s, %(data)b FROM standing
    RETURNING id
),
summed AS (
    {SUMMARISE.format(run="standing.run_id", source="standing,", newest="(SELECT is_newest FROM standing)")}
),
due AS (
    INSERT INTO runs_flagcheck (run_id, arrived, checked) SELECT run_id, 1, 0 FROM standing WHERE %(is_evaluated)s
    ON CONFLICT (run_id) DO UPDATE SET arrived = runs_flagcheck.arrived + 1
),
used AS (
    UPDATE runs_apitoken SET last_used_at = %(now)s FROM writer
    WHERE runs_apitoken.id = writer.token_id AND writer.is_worn
)
SELECT (SELECT next_seq FROM known), (SELECT id FROM batch), writer.uid, (SELECT previous FROM standing) FROM writer
"""  # noqa: S608


def insert_push(token: str, key: str, epoch: int, columns: Columns) -> PushResult | None:
    """Store the records like `push`, and publish them to open pages after the commit.

    Return None, with nothing written, if `push` must handle the request. Raise psycopg.Error if the database does not
    reply, and PoolTimeout if no connection is free.
    """
    if not columns.points.cells or not metrics.are_times(columns.points.t).all():
        return None
    data = metrics.pack(columns.points)
    params = writer(token, key) | summary(columns.points)
    params["is_evaluated"] = EVALUATED in columns.points.keys
    params |= {"epoch": epoch, "first_seq": Int8(columns.first_seq), "next_seq": Int8(columns.next_seq), "data": data}
    row = _execute_push(params)
    if row is None:
        return None
    known_seq, batch_id, uid, previous = row
    if batch_id is not None:
        live.publish_points(uid, batch_id, columns.points, data, previous=previous)
        return PushResult(len(columns), columns.next_seq)
    return PushResult(0, known_seq) if known_seq is not None and known_seq >= columns.next_seq else None


def may_write(token: str, key: str) -> bool | None:
    """Return whether the token may write the attempt, None if there is no such token. One statement.

    Raise psycopg.Error or PoolTimeout.
    """
    pool = cast(DatabaseWrapper, connections["default"]).pool
    pool.open()
    with pool.connection() as connection:
        connection.prepare_threshold = 0
        is_token, writes = psycopg.Cursor(connection).execute(MAY_WRITE, writer(token, key)).fetchall()[0]
    return writes if is_token else None


def _execute_push(params: dict[str, Any]) -> tuple[Any, ...] | None:
    """Run LOCK and PUSH in one transaction. Return None if the token may not write the attempt, else a row of the next
    seq before the push, the new batch's id, the run's uid and its previous cursor; values that do not exist are None.
    """
    pool = cast(DatabaseWrapper, connections["default"]).pool
    pool.open()
    with pool.connection() as connection:
        # Planning costs more than the execution. Django's own cursors never prepare statements.
        connection.prepare_threshold = 0
        lock, rows = psycopg.Cursor(connection), psycopg.Cursor(connection)
        with connection.pipeline(), connection.transaction():
            lock.execute(LOCK, params)
            rows.execute(PUSH, params)
        return rows.fetchone()
