"""While runs train, PostgreSQL or one of its processes is killed again and again. After each kill, what the database
says it has read of each file is there record by record, and in the end the files are there whole.

Metrics are committed without waiting for the disk, so each kill loses the last of them, which must be read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import psycopg
import pytest

from esweb.embedded import database_url
from tests import soaking
from tests.chaos.invariants import untruths
from tests.chaos.plan import KILL, faults
from tests.chaos.recount import differences, of_file
from tests.chaos.scenario import Chaos
from tests.waiting import wait_until
from workers.executors.states import State

pytestmark = pytest.mark.slow
SEED, KILLS = soaking.seed(61), 2
KINDS = ((KILL, "postgres"), (KILL, "postgres child"))
SETTLING_SECONDS = 60.0
STORED = 'SELECT sum("offset") FROM runs_recordfile, pg_sleep(0.005)'
LOOKS = 1000
ONE_MOMENT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
READ = """
SELECT a.id, r.uid || '/' || a.key, f.epoch, f."offset" FROM runs_recordfile f
JOIN runs_attempt a ON a.id = f.attempt_id JOIN runs_run r ON r.id = a.run_id
"""
NOT_FOLLOWED = "SELECT r.uid || '/' || a.key FROM runs_attempt a JOIN runs_run r ON r.id = a.run_id WHERE a.state = %s"
"""A kill in the midst of submitting leaves attempts so until the next tick."""


def test_after_each_kill_of_postgresql_the_records_are_those_of_the_files(chaos: Chaos) -> None:
    print(f"\nseed {SEED}")
    chaos.begin()
    plan, compared = faults(SEED, KINDS, moments=[""], longest_wait=1.0), 0
    await_commit = partial(wait_until, partial(records_are_stored, chaos), "the follower to store records")
    for _ in soaking.rounds(KILLS, "kills of PostgreSQL", settling_seconds=SETTLING_SECONDS):
        chaos.inject(next(plan), await_commit)
        compared += compare_once_read_on(chaos)
    chaos.rest()
    print(f"{chaos.table}\n{compared} records compared after kills")
    soaking.count(compared, "comparisons of a record")
    assert compared
    found = untruths(chaos.house.data, chaos.launched, chaos.hit, chaos.starved, chaos.watch.seen)
    found += chaos.visits.bad()
    assert not found, "\n".join(found)


def records_are_stored(chaos: Chaos) -> bool:
    """Return True as soon as a transaction has stored records, False where none does for some seconds."""
    try:
        with psycopg.connect(database_url(chaos.house.data), autocommit=True) as connection:
            before = connection.execute(STORED).fetchone()
            return any(connection.execute(STORED).fetchone() != before for _ in range(LOOKS))
    except psycopg.OperationalError:
        return False


def compare_once_read_on(chaos: Chaos) -> int:
    """Wait until what the files of open runs hold now is read, then compare; return the number of records compared."""
    return wait_until(partial(_compared, chaos.house.data / "runs", sizes(chaos)), "the follower to read on")


def sizes(chaos: Chaos) -> dict[Path, int]:
    """Return how many bytes the whole lines of each file of records take."""
    files = chaos.house.data.glob("runs/*/esweb-*/records.*.jsonl")
    return {path: path.read_bytes().rfind(b"\n") + 1 for path in files}


def _compared(runs: Path, written: Mapping[Path, int]) -> int:
    """Return 0 where PostgreSQL is away or has not read so far yet, otherwise the number of records that are equal."""
    try:
        with psycopg.connect(database_url(runs.parent)) as connection:
            connection.execute(ONE_MOMENT)
            rows = connection.execute(READ).fetchall()
            read = {runs / home / f"records.{epoch}.jsonl": (attempt, epoch, end) for attempt, home, epoch, end in rows}
            waiting = {runs / home for (home,) in connection.execute(NOT_FOLLOWED, [State.CREATED.value])}
            behind = [path for path, size in written.items() if path not in read or read[path][2] < size]
            if not read or any(path.parent not in waiting for path in behind):
                return 0
            found = [
                words
                for path, (attempt, epoch, end) in read.items()
                for words in differences(connection, attempt, epoch, path, end)
            ]
    except psycopg.OperationalError:
        return 0
    assert not found, "\n".join(found)
    return sum(of_file(path, end).total() for path, (_, _, end) in read.items())
