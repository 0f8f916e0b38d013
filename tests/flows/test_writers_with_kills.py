"""64 writers push while web and worker are killed and compaction runs: every point is stored once.

`make soak PART=writers` writes a million points in each of many rounds. In `make test` one process has many writers
(tests/esweb/test_back_pressure.py), pushes break off (test_fast_ingest.py), and parts are killed (tests/chaos).
"""

from __future__ import annotations

import random
import signal
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from celery import Celery

from esweb.embedded import redis_url
from esweb.env import celery_broker
from tests import soak_plugin
from tests.chaos.supervisor import Supervisor
from tests.flows.pushed_points import POINTS
from tests.flows.writers import ALONE, TOGETHER, WriteProgress, make_files, run_writer_site, start_writers
from tests.started_site import make_started_site
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.soak]
SEED = soak_plugin.seed(1)
BATCHES = 12 if soak_plugin.SECONDS else 4
"""Batches of a file. The shared file has as many: each of its batches is sent by all of its writers."""
KILLS = 4 if soak_plugin.SECONDS else 2
"""Kills in a round."""


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    """Yield a running esweb."""
    started = Supervisor(make_started_site(tmp_path / "data"), {})
    started.start()
    wait_until(lambda: is_healthy(started), "the site to be healthy")
    yield started
    started.kill_all()


def test_points_are_stored_once_despite_kills(supervisor: Supervisor) -> None:
    for number in soak_plugin.rounds(1, "rounds", settling_seconds=10.0):
        write_and_kill(supervisor, number)
    assert supervisor.stop() == 0


def write_and_kill(supervisor: Supervisor, number: int) -> None:
    """Write to new files while parts are killed, and compare the stored points with the sent ones."""
    files, progress = make_files(supervisor, number * (ALONE + 1), BATCHES), WriteProgress()
    total_batches = BATCHES * len(files)
    with ThreadPoolExecutor(ALONE + TOGETHER) as threads:
        futures = start_writers(threads, supervisor.port, files, progress, (SEED + number) * (ALONE + TOGETHER))
        started_at = time.monotonic()
        kill_parts(supervisor, progress, total_batches, futures, random.Random(SEED + number))
        for future in futures:
            future.result()
        seconds = time.monotonic() - started_at
    print(f"\n{total_batches * POINTS} points in {seconds:.0f} s, {KILLS} kills; answers: {dict(progress.outcomes)}")
    soak_plugin.count(total_batches * POINTS, "points")
    soak_plugin.count(KILLS, "kills")
    assert run_writer_site(supervisor, "look", str(files[0].number), *[str(BATCHES)] * len(files)) == []
    assert progress.outcomes["200"] > 1.1 * total_batches, "too few replays"
    assert progress.outcomes["409"], "nobody leapt ahead"


def kill_parts(
    supervisor: Supervisor,
    progress: WriteProgress,
    total_batches: int,
    futures: Sequence[Future[None]],
    rng: random.Random,
) -> None:
    """Kill web and worker in turn, spread over the writing, each worker while it compacts."""
    queue = Celery(broker=celery_broker(redis_url(supervisor.data)))
    for number in range(KILLS):
        due = (number + 1) * total_batches / (KILLS + 1)
        wait_until(
            lambda due=due: progress.stored_batches >= due or _check_writers(futures), f"{due:.0f} batches to be taken"
        )
        queue.send_task("runs.jobs.compact_series", queue="jobs")
        time.sleep(rng.uniform(0.0, 0.5))  # noqa: TID251  (the kill comes at any time of the compaction)
        for site_process in supervisor.processes("worker" if number % 2 else "web"):
            site_process.process.send(signal.SIGKILL)
    queue.close()


def _check_writers(futures: Sequence[Future[None]]) -> bool:
    """Raise the exception of a failed writer. Return whether all writers are done."""
    for future in futures:
        if future.done():
            future.result()
    return all(future.done() for future in futures)


def is_healthy(supervisor: Supervisor) -> bool:
    """Return whether the site answers. Fail if `up` has ended."""
    assert supervisor.is_running, supervisor.console.read_text(encoding="utf-8")
    try:
        urllib.request.urlopen(f"{supervisor.address}/healthz", timeout=PATIENCE_SECONDS).close()  # noqa: S310  (our own, http)
    except OSError:
        return False
    return True
