"""Compare the records that the database holds with the files, up to the offset that it stores."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import psycopg

from esweb.embedded import database_url
from tests.chaos.recount import differences, read_file
from tests.chaos.scenario import ChaosScenario
from tests.waiting import wait_until
from workers.executors.states import State

STORED = 'SELECT sum("offset") FROM runs_recordfile, pg_sleep(0.005)'
MAX_CHECKS = 1000
ONE_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
READ_OFFSETS = """
SELECT a.id, r.uid || '/' || a.key, f.epoch, f."offset" FROM runs_recordfile f
JOIN runs_attempt a ON a.id = f.attempt_id JOIN runs_run r ON r.id = a.run_id
"""
NOT_FOLLOWED = "SELECT r.uid || '/' || a.key FROM runs_attempt a JOIN runs_run r ON r.id = a.run_id WHERE a.state = %s"
"""Attempts that a kill during a submit leaves in their state until the next tick."""


def records_are_stored(chaos: ChaosScenario) -> bool:
    """Return True as soon as a transaction has stored records, False if none does for some seconds."""
    try:
        with psycopg.connect(database_url(chaos.supervisor.data), autocommit=True) as connection:
            before = connection.execute(STORED).fetchone()
            return any(connection.execute(STORED).fetchone() != before for _ in range(MAX_CHECKS))
    except psycopg.OperationalError:
        return False


def compare_after_read(chaos: ChaosScenario) -> int:
    """Wait until the present content of open runs' files is read. Return the number of compared records."""
    return wait_until(
        partial(_compare_records, chaos.supervisor.data / "runs", sizes(chaos)), "the follower to read on"
    )


def sizes(chaos: ChaosScenario) -> dict[Path, int]:
    """Return the bytes of the whole lines of each file of records."""
    files = chaos.supervisor.data.glob("runs/*/esweb-*/records.*.jsonl")
    return {path: path.read_bytes().rfind(b"\n") + 1 for path in files}


def _compare_records(runs: Path, written: Mapping[Path, int]) -> int:
    """Return the number of equal records, or 0 if PostgreSQL is down or has not read so far yet."""
    try:
        with psycopg.connect(database_url(runs.parent)) as connection:
            connection.execute(ONE_SNAPSHOT)
            rows = connection.execute(READ_OFFSETS).fetchall()
            read = {
                runs / directory / f"records.{epoch}.jsonl": (attempt, epoch, end)
                for attempt, directory, epoch, end in rows
            }
            waiting = {runs / directory for (directory,) in connection.execute(NOT_FOLLOWED, [State.CREATED.value])}
            behind = [path for path, size in written.items() if path not in read or read[path][2] < size]
            if not read or any(path.parent not in waiting for path in behind):
                return 0
            problems = [
                problem
                for path, (attempt, epoch, end) in read.items()
                for problem in differences(connection, attempt, epoch, path, end)
            ]
    except psycopg.OperationalError:
        return 0
    assert not problems, "\n".join(problems)
    return sum(read_file(path, end).total() for path, (_, _, end) in read.items())
