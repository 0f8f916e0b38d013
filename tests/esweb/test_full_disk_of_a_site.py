"""A whole site on one disk, which fills while a run trains: once there is room, everything resumes automatically.

`make test` has the parts: servers on full disks (test_full_disk_of_servers.py), the exit code of a training on one
(tests/flows/test_bad_inputs.py), and a full disk of the runs of a whole site (tests/chaos/test_faults.py).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from esweb.embedded import database_url
from tests.chaos.database_view import DatabaseView
from tests.chaos.recount import differences
from tests.chaos.supervisor import Supervisor
from tests.small_disks import SmallDisk, needs_small_disk, small_disk
from tests.started_site import make_started_site
from tests.waiting import PATIENCE_SECONDS, wait_until
from workers.attempt import DISK_FULL, read_json
from workers.records import records_path

pytestmark = [pytest.mark.soak, needs_small_disk]
CHECKPOINT_EVERY = 5
CONFIG = {
    "es": {"iterations": 100, "population": 6, "prompts": 4, "checkpoint_every": CHECKPOINT_EVERY, "keep": "all"},
    "evaluation": {"every": 50, "prompts": 4, "samples": 1},
}
WRITE_AHEAD = "SELECT pg_logical_emit_message(false, 'filler', repeat('x', 4000000))"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Supervisor]:
    """Return a `manage.py up` that is not open yet."""
    house = Supervisor(make_started_site(tmp_path / "data"), {})
    yield house
    house.kill_all()


def test_site_and_run_resume_once_their_disk_has_room(house: Supervisor) -> None:
    with small_disk(house.data, 256) as disk:
        house.start()
        wait_until(lambda: is_well(house), "the site to be well", details=house.console.read_text)
        with closing(api(house)) as site:
            body = {"experiment_name": "Full", "name": "tight", "preset": "es-micro", "config": CONFIG, "seed": 1}
            run = site.post("/runs", json=body).raise_for_status().json()["uid"]
            directory = wait_until(lambda: next(house.data.glob("runs/*/*-a1"), None), "the attempt's directory")
            wait_until(lambda: [*directory.glob("checkpoints/step-*")], "the first checkpoint")
            # Connected while there is room: on a full disk a new connection may fail before it writes anything.
            with closing(Writer(house)) as writer:
                fill_until_the_run_has_ended(disk, directory)
                fill_until_postgres_cannot_start(disk, house, writer)
            disk.make_room()
            wait_until(lambda: is_in(site, run, "failed"), "the run to fail", details=house.console.read_text)
            site.post(f"/runs/{run}/resume").raise_for_status()
            wait_until(lambda: is_in(site, run, "succeeded"), "the resumed run to succeed")
        check_stored_records(house)
        assert house.stop() == 0
        assert not house.processes(), "something lives on after the end"


def api(house: Supervisor) -> httpx.Client:
    """Return a client that is signed in by the link which `up` prints; `createtoken` would take three seconds."""
    link = wait_until(lambda: re.search(r"http\S+/sign-in/\S+", house.console.read_text()), "the link to sign in")
    site = httpx.Client(base_url=f"{house.address}/api/v1", timeout=PATIENCE_SECONDS)
    site.get(link.group())
    site.headers["X-CSRFToken"] = site.cookies["csrftoken"]
    return site


def is_well(house: Supervisor) -> bool:
    try:
        return httpx.get(f"{house.address}/healthz", timeout=PATIENCE_SECONDS).is_success
    except httpx.TransportError:
        return False


def fill_until_the_run_has_ended(disk: SmallDisk, directory: Path) -> None:
    """Fill the disk, again whenever something leaves it, until the agent has written down how its run ended."""

    def ended() -> dict[str, Any] | None:
        disk.fill()
        return read_json(directory / "exit.json")

    assert wait_until(ended, "exit.json on the full disk")["code"] == DISK_FULL


class Writer:
    """Writes to PostgreSQL's log of changes, by one connection for as long as it lasts."""

    def __init__(self, house: Supervisor) -> None:
        self._url = database_url(house.data)
        self._sql = psycopg.connect(self._url, autocommit=True)

    def write(self) -> None:
        """Write 4 MB. Raise OperationalError if PostgreSQL cannot."""
        if self._sql.closed:
            self._sql = psycopg.connect(self._url, autocommit=True)
        self._sql.execute(WRITE_AHEAD)

    def close(self) -> None:
        self._sql.close()


def fill_until_postgres_cannot_start(disk: SmallDisk, house: Supervisor, writer: Writer) -> None:
    """Write until PostgreSQL has ended and cannot start for want of space."""

    def cannot_start() -> bool:
        disk.fill()
        with contextlib.suppress(psycopg.OperationalError):
            writer.write()
        return "is full. Retrying in 2 s" in house.console.read_text()

    wait_until(cannot_start, "PostgreSQL to be tried again and again", details=house.console.read_text)


def is_in(site: httpx.Client, run: str, state: str) -> bool:
    """Return whether the run is in that state; False while the site does not answer."""
    answer = site.get(f"/runs/{run}")
    return answer.is_success and answer.json()["state"] == state


def check_stored_records(house: Supervisor) -> None:
    """Check that every record is stored once, and that both attempts have their reasons."""
    with DatabaseView(house.data) as books:
        wait_until(lambda: all(row["drained_at"] for row in books.attempts()), "all files to be read to their end")
        first, second = books.attempts()
        for row in (first, second):
            path = records_path(house.data / "runs" / str(row["uid"]) / row["key"], 0)
            assert differences(books.connection, row["id"], 0, path) == []
        assert first["reason"].startswith("disk full: "), first["reason"]
        assert second["resumed_step"] % CHECKPOINT_EVERY == 0, second["resumed_step"]
        print(books.summary())
