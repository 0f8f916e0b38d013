"""64 writers push and 100 pages watch while runs train, and everything is killed 40 times and stopped: nothing is lost.

`make soak PART=loss` prints what was written, stored and killed. Stored points are read by tests/chaos/recount.py,
which shares no code with what stored them. `make test` kills fewer processes (test_faults.py), and its pages are few
(tests/runs/metrics/test_socket.py).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import dict_row

from esweb.embedded import database_url
from tests import soak_plugin
from tests.chaos.database_view import DatabaseView
from tests.chaos.invariants import find_violations
from tests.chaos.plan import KILL, KILLS, STOP, generate_faults
from tests.chaos.recount import differences
from tests.chaos.scenario import ChaosScenario
from tests.chaos.stored_records import records_are_stored
from tests.chaos.watchers import Watcher, Watchers
from tests.flows.pushed_points import KEYS, POINTS, RECORDS, make_lines
from tests.flows.writers import ALONE, TOGETHER, File, WriteProgress, make_files, run_writer_site, start_writers
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.soak]
SEED = soak_plugin.seed(1)
PAGES, USERS = 100, 4
"""Open pages, and the users who opened them: a user may have 50."""
MIN_FAULTS = 44
"""At least 40 kills; every twelfth fault is a stop of the site and its next start."""
WRITE_SECONDS = 60.0
MAX_BATCHES = 10**6
SETTLING_SECONDS = 180.0
NEXT_SEQS = """
SELECT a.id, a.key, coalesce(max(f.next_seq), 0) AS next_seq
FROM runs_attempt a LEFT JOIN runs_recordfile f ON f.attempt_id = a.id GROUP BY a.id
"""


def test_no_confirmed_record_is_lost_under_kills(chaos: ChaosScenario, tmp_path: Path) -> None:
    plan = generate_faults(SEED, [*((KILL, victim) for victim in KILLS), (STOP, "up")], max_wait=1.5)
    chaos.start()
    wait_until(partial(records_are_stored, chaos), "the first records of a run")
    files, progress = make_files(chaos.supervisor, 0, MAX_BATCHES), WriteProgress()
    with watching(chaos, files) as watchers, ThreadPoolExecutor(ALONE + TOGETHER) as threads:
        started_at = time.monotonic()
        writers = start_writing(chaos, threads, files, progress)
        for _ in soak_plugin.rounds(MIN_FAULTS, "faults", settling_seconds=SETTLING_SECONDS):
            chaos.inject(next(plan))
            if time.monotonic() > started_at + WRITE_SECONDS:
                progress.stop_requested.set()
        for writer in writers:
            writer.result()
        chaos.wait_until_settled()
        stored = stored_records(chaos)
        wait_until(
            lambda: not watchers.behind(stored),
            "every page to have every point",
            details=lambda: watchers.behind(stored),
        )
    print(f"\n{describe(progress, sum(stored.values()))}\n{watchers.describe()}\n{chaos.table}")
    violations = [
        *written_violations(chaos, files, progress, tmp_path),
        *(problem for watcher in watchers.watchers for problem in watcher.problems),
        *find_violations(chaos.supervisor.data, chaos.launched, chaos.killed, chaos.starved, chaos.watch.sightings),
    ]
    with DatabaseView(chaos.supervisor.data) as database:
        print(database.summary())
    assert not violations, "\n".join(violations)
    assert chaos.supervisor.stop() == 0
    assert not chaos.supervisor.processes(), "something lives on after the end"


def start_writing(
    chaos: ChaosScenario, threads: ThreadPoolExecutor, files: Sequence[File], progress: WriteProgress
) -> list[Future[None]]:
    """Start all writers. They write until the progress requests a stop."""
    return start_writers(threads, chaos.supervisor.port, files, progress, SEED * (ALONE + TOGETHER))


@contextmanager
def watching(chaos: ChaosScenario, files: Sequence[File]) -> Iterator[Watchers]:
    """Open the pages; each watches one of the runs that are written."""
    sessions = run_writer_site(chaos.supervisor, "sessions", str(USERS))
    watchers = Watchers(
        [
            Watcher(chaos.supervisor.port, sessions[n % USERS], run_of(files[n % len(files)].key), KEYS[0])
            for n in range(PAGES)
        ]
    )
    watchers.start()
    try:
        yield watchers
    finally:
        watchers.stop()


def run_of(key: str) -> str:
    """Return the uid of the run to which an attempt's key belongs."""
    match = re.fullmatch(r"esweb-(.+)-a\d+", key)
    assert match is not None
    return match[1]


def stored_records(chaos: ChaosScenario) -> dict[str, int]:
    """Return run uid -> number of records that its only pushed file has in the database."""
    with psycopg.connect(database_url(chaos.supervisor.data)) as connection:
        return {run_of(key): next_seq for _, key, next_seq in connection.execute(NEXT_SEQS).fetchall()}


def written_violations(
    chaos: ChaosScenario, files: Sequence[File], progress: WriteProgress, folder: Path
) -> Iterator[str]:
    """Compare the stored points of each file with those that its writers sent."""
    with psycopg.connect(database_url(chaos.supervisor.data), row_factory=dict_row) as connection:
        rows = {row["key"]: row for row in connection.execute(NEXT_SEQS)}
        for file in files:
            confirmed, next_seq = progress.batches_by_file.get(file.number, 0), rows[file.key]["next_seq"]
            if next_seq < confirmed * RECORDS or next_seq % RECORDS:
                yield f"{file.key}: {next_seq} records are stored, {confirmed * RECORDS} were confirmed"
            path = folder / f"{file.key}.jsonl"
            path.write_bytes(b"".join(make_lines(file.number, batch) for batch in range(next_seq // RECORDS)))
            for difference in differences(connection, rows[file.key]["id"], 0, path):
                yield f"{file.key}: {difference}"
            path.unlink()


def describe(progress: WriteProgress, stored: int) -> str:
    """Return one line with the numbers of points and of responses to the writers."""
    soak_plugin.count(progress.stored_batches * POINTS, "points")
    outcomes = ", ".join(f"{count} × {outcome}" for outcome, count in sorted(progress.outcomes.items()))
    return f"{progress.stored_batches * POINTS} points confirmed, {stored} records of all runs stored; {outcomes}"
