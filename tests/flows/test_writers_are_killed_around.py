"""64 writers push while web and worker are killed and compaction runs: every point is kept, none twice.

ESWEB_WRITTEN_POINTS chooses how many points; `make soak` writes ten million.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from celery import Celery

from esweb.addresses import celery_broker
from esweb.embedded import redis_url
from tests.chaos.house import ROOT, STARTS_SECONDS, House, until
from tests.flows.pushed_points import POINTS
from tests.flows.writers import File, Story, start
from tests.lived_in import lived_in

pytestmark = pytest.mark.slow
WRITTEN = int(os.environ.get("ESWEB_WRITTEN_POINTS", "1000000"))
ALONE, TOGETHER = 48, 16
"""Writers with a file of their own, and writers of one file that they share."""
BATCHES = -(-WRITTEN // (POINTS * (ALONE + 1)))
"""Of a file. One that is shared is no longer than the others: each of its batches is sent by all of its writers."""
KILLS = min(60, 2 + WRITTEN // 500_000)
SLOWEST = 1_000
"""Points a second, on a machine that is busy with other tests."""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """esweb, running."""
    opened = House(lived_in(tmp_path / "data"), {})
    opened.open()
    until(lambda: is_well(opened), STARTS_SECONDS)
    yield opened
    opened.kill_everything()


def test_every_point_is_kept_once_whatever_is_killed(house: House) -> None:
    files, story = made(house), Story()
    everything = BATCHES * len(files)
    with ThreadPoolExecutor(ALONE + TOGETHER) as threads:
        hands = [*files[:ALONE], *[files[ALONE]] * TOGETHER]
        writing = start(threads, house.port, hands, story, 60 + WRITTEN / SLOWEST)
        began = time.monotonic()
        kill_around(house, story, everything, writing)
        for hand in writing:
            hand.result()
        seconds = time.monotonic() - began
    print(f"\n{everything * POINTS} points in {seconds:.0f} s, {KILLS} kills; answers: {dict(story.met)}")
    assert staged(house, "look", *[str(BATCHES)] * len(files)) == []
    assert story.met["200"] > 1.2 * everything, "too few replays"
    assert story.met["409"], "nobody leapt ahead"
    assert house.close() == 0


def made(house: House) -> list[File]:
    """A file for each who writes alone, the last for those who write together."""
    runs = staged(house, "make", str(ALONE + 1))
    return [File(number, key, token, BATCHES) for number, (key, token) in enumerate(runs)]


def kill_around(house: House, story: Story, everything: int, writing: Sequence[Future[None]]) -> None:
    """Kills web and worker in turn, spread over the writing, each worker while it compacts."""
    chance, queue = random.Random(1), Celery(broker=celery_broker(redis_url(house.data)))
    for number in range(KILLS):
        due = (number + 1) * everything / (KILLS + 1)
        until(lambda due=due: story.progress >= due or _broken(writing), 60 + WRITTEN / SLOWEST)
        queue.send_task("runs.jobs.compact_series", queue="jobs")
        time.sleep(chance.uniform(0.0, 0.5))
        for resident in house.living("worker" if number % 2 else "web"):
            resident.process.send(signal.SIGKILL)
    queue.close()


def _broken(writing: Sequence[Future[None]]) -> bool:
    """Raises what a writer met that no writer should meet."""
    for hand in writing:
        if hand.done():
            hand.result()
    return all(hand.done() for hand in writing)


def staged(house: House, *words: str) -> Any:
    """What `tests.flows.stage` prints, run on the house's data."""
    env = house.env | {"ESWEB_DATA": str(house.data), "DJANGO_SETTINGS_MODULE": "esweb.settings"}
    argv = [sys.executable, "-m", "tests.flows.stage", *words]
    done = subprocess.run(argv, env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def is_well(house: House) -> bool:
    """True once the site answers. Fails where `up` has ended."""
    assert house.is_open, house.console.read_text(encoding="utf-8")
    try:
        urllib.request.urlopen(f"{house.address}/healthz", timeout=10).close()  # noqa: S310  (our own, http)
    except OSError:
        return False
    return True
