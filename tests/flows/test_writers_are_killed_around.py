"""64 writers push while web and worker are killed and compaction runs: every point is kept, none twice.

`make test` writes about 50 000 points in one round; `make soak PART=writers` a million in each of many rounds.
"""

from __future__ import annotations

import json
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

from esweb.embedded import redis_url
from esweb.env import celery_broker
from tests import soaking
from tests.chaos.site_process import ROOT, House
from tests.flows.pushed_points import POINTS
from tests.flows.writers import File, Story, start
from tests.started_site import lived_in
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.slow
SEED = soaking.seed(1)
ALONE, TOGETHER = 48, 16
"""Writers with a file of their own, and writers of one file that they share."""
BATCHES = 12 if soaking.SECONDS else 4
"""Of a file. One that is shared is no longer than the others: each of its batches is sent by all of its writers."""
KILLS = 4 if soaking.SECONDS else 2
"""In a round."""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """esweb, running."""
    opened = House(lived_in(tmp_path / "data"), {})
    opened.open()
    wait_until(lambda: is_well(opened), "the site to be healthy")
    yield opened
    opened.kill_everything()


def test_every_point_is_kept_once_whatever_is_killed(house: House) -> None:
    for number in soaking.rounds(1, "rounds", settling_seconds=10.0):
        write_and_kill(house, number)
    assert house.close() == 0


def write_and_kill(house: House, number: int) -> None:
    """Write to new files while parts are killed, and compare what is stored with what was sent."""
    files, story = made(house, number * (ALONE + 1)), Story()
    everything = BATCHES * len(files)
    with ThreadPoolExecutor(ALONE + TOGETHER) as threads:
        hands = [*files[:ALONE], *[files[ALONE]] * TOGETHER]
        writing = start(threads, house.port, hands, story, (SEED + number) * len(hands))
        began = time.monotonic()
        kill_around(house, story, everything, writing, random.Random(SEED + number))
        for hand in writing:
            hand.result()
        seconds = time.monotonic() - began
    print(f"\n{everything * POINTS} points in {seconds:.0f} s, {KILLS} kills; answers: {dict(story.met)}")
    soaking.count(everything * POINTS, "points")
    soaking.count(KILLS, "kills")
    assert staged(house, "look", str(files[0].number), *[str(BATCHES)] * len(files)) == []
    assert story.met["200"] > 1.1 * everything, "too few replays"
    assert story.met["409"], "nobody leapt ahead"


def made(house: House, first: int) -> list[File]:
    """A file for each who writes alone, the last for those who write together; they are numbered from `first` on."""
    runs = staged(house, "make", str(ALONE + 1))
    return [File(number, key, token, BATCHES) for number, (key, token) in enumerate(runs, first)]


def kill_around(
    house: House, story: Story, everything: int, writing: Sequence[Future[None]], chance: random.Random
) -> None:
    """Kills web and worker in turn, spread over the writing, each worker while it compacts."""
    queue = Celery(broker=celery_broker(redis_url(house.data)))
    for number in range(KILLS):
        due = (number + 1) * everything / (KILLS + 1)
        wait_until(lambda due=due: story.progress >= due or _broken(writing), f"{due:.0f} batches to be taken")
        queue.send_task("runs.jobs.compact_series", queue="jobs")
        time.sleep(chance.uniform(0.0, 0.5))  # noqa: TID251  (the kill comes at any moment of the compaction)
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
    """What `tests.flows.writer_site` prints, run on the house's data."""
    env = house.env | {"ESWEB_DATA": str(house.data), "DJANGO_SETTINGS_MODULE": "esweb.settings"}
    argv = [sys.executable, "-m", "tests.flows.writer_site", *words]
    done = subprocess.run(argv, env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def is_well(house: House) -> bool:
    """True once the site answers. Fails where `up` has ended."""
    assert house.is_open, house.console.read_text(encoding="utf-8")
    try:
        urllib.request.urlopen(f"{house.address}/healthz", timeout=PATIENCE_SECONDS).close()  # noqa: S310  (our own, http)
    except OSError:
        return False
    return True
