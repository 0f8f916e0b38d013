"""Disks that are low or full: every page, `/healthz`, the 503 page and the terminal report them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import OperationalError
from django.test import Client, RequestFactory
from pytest_django.fixtures import Settings

from esweb import embedded
from esweb.bootstrap import disk_room, health
from esweb.bootstrap.disk_room import Disk, DiskWatch, measure_disks, site_folders
from esweb.middleware.outage_errors import DATABASE, REDIS
from esweb.middleware.outages import unavailable
from esweb.supervisor.disk_report import DiskReport
from tests.cases import each_case
from tests.small_disks import needs_small_disk, small_disk

GB, MB = 10**9, 10**6
ALL = {name: Path(f"/data/{name}") for name in disk_room.CONTENTS}


class Disks:
    """Disks that a test changes; `watch` measures them each time."""

    def __init__(self, *disks: Disk) -> None:
        self.now = list(disks)
        self.watch = DiskWatch(lambda: self.now)


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure at each look, for as long as it takes."""
    monkeypatch.setattr(disk_room, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(disk_room, "ANSWER_SECONDS", 30.0)


@pytest.fixture
def set_disks(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that sets the disks of the site."""

    def set_disks(*disks: Disk) -> None:
        watch = DiskWatch(lambda: list(disks))
        for module in (disk_room, health):
            monkeypatch.setattr(module, "watch", watch)

    return set_disks


@each_case(
    ("free", "total", "state"),
    [
        (100 * GB, 200 * GB, "ok"),
        (3 * GB, 200 * GB, "ok"),
        (2 * GB, 200 * GB, "low"),
        (17 * MB, 200 * GB, "low"),
        (16 * MB, 200 * GB, "full"),
        (0, 200 * GB, "full"),
        (1 * GB, 5 * GB, "ok"),
        (0.4 * GB, 5 * GB, "low"),
        (7 * MB, 64 * MB, "ok"),
        (5 * MB, 64 * MB, "low"),
        (3 * MB, 64 * MB, "full"),
    ],
)
def test_disk_is_low_or_full_by_its_free_bytes(free: float, total: int, state: str) -> None:
    assert Disks(Disk(ALL, int(free), int(total))).watch.state() == state


def test_disk_that_takes_no_more_files_is_full() -> None:
    disk = Disk(ALL, 100 * GB, 200 * GB, has_files=False)
    assert (disk.is_full, disk.room) == (True, "it takes no more files")


def test_low_disk_follows_the_setting(settings: Settings) -> None:
    settings.LOW_DISK_MB = 0
    assert Disks(Disk(ALL, GB, 200 * GB)).watch.state() == "ok"


def test_folders_of_one_disk_are_one_disk(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"
    settings.DATABASE_URL, settings.REDIS_URL = embedded.database_url(tmp_path), embedded.redis_url(tmp_path)
    (disk,) = measure_disks()
    assert list(disk.folders) == ["runs", "database", "valkey", "logs"]
    settings.DATABASE_URL = "postgresql://elsewhere/esweb"
    assert list(site_folders()) == ["runs", "valkey", "logs"]


@needs_small_disk
def test_disk_of_one_folder_is_measured_by_itself(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"
    (tmp_path / "runs").mkdir()
    with small_disk(tmp_path / "runs", 8) as disk:
        watch = DiskWatch(lambda: [disk for disk in measure_disks() if disk_room.RUNS in disk.folders])
        assert watch.state() == "ok"
        disk.fill()
        (full,) = watch.scarce()
        assert (list(full.folders), full.is_full) == (["runs"], True)
        disk.make_room()
        assert watch.state() == "ok"


def test_frozen_disk_delays_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen, full = threading.Event(), Disk(ALL, 0, 200 * GB)
    disks = Disks(full)
    assert disks.watch.state() == "full"
    monkeypatch.setattr(disk_room, "ANSWER_SECONDS", 0.0)
    disks.watch._measure = lambda: [full] if frozen.wait(30) else []
    assert [disks.watch.state() for _ in range(3)] == ["full"] * 3
    assert sum(thread.name == "disk room" for thread in threading.enumerate()) == 1
    frozen.set()


@pytest.mark.django_db
def test_pages_of_signed_in_users_show_a_full_disk(
    bo_client: Client, admin_client: Client, client: Client, set_disks: Callable[..., None]
) -> None:
    set_disks(Disk(ALL, 3 * MB, 200 * GB))
    sentence = "The disk that stores the runs, the database, Valkey, the logs is full (3.0 MB of 200.0 GB free)."
    for address in ("/", "/experiments/", "/nowhere/"):
        page = bo_client.get(address).content.decode()
        assert sentence in page
        assert "/data/runs" not in page
    assert "Folders: /data/runs, /data/database" in admin_client.get("/").content.decode()
    assert "disk" not in client.get("/login/").content.decode()
    set_disks(Disk(ALL, GB, 200 * GB))
    assert "has little room left (1.0 GB of 200.0 GB free)" in bo_client.get("/").content.decode()
    set_disks(Disk(ALL, 100 * GB, 200 * GB))
    assert "disk" not in bo_client.get("/").content.decode()


@pytest.mark.django_db
def test_health_reports_the_disk_and_stays_well(client: Client, set_disks: Callable[..., None]) -> None:
    set_disks(Disk(ALL, 0, 200 * GB))
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()["disk"]) == (200, "full")


def test_unavailable_page_names_the_full_disk_of_the_server(set_disks: Callable[..., None]) -> None:
    request = RequestFactory().get("/")
    set_disks(Disk(ALL, 0, 200 * GB))
    for server, sentence in ((DATABASE, b"The database&#x27;s disk is full"), (REDIS, b"The disk of Valkey, which")):
        assert sentence in unavailable(request, server, error=OperationalError(), began=False).content
    set_disks(Disk({disk_room.RUNS: Path("/runs")}, 0, 200 * GB))
    assert b"disk" not in unavailable(request, DATABASE, error=OperationalError(), began=False).content


def test_terminal_reports_a_full_disk_once_a_minute() -> None:
    now, lines = [1000.0], list[str]()
    disks = Disks(Disk(ALL, GB, 200 * GB))
    report = DiskReport(lines.append, disks.watch, lambda: now[0])

    def look(seconds: int) -> list[str]:
        """Return the lines that are printed during so many seconds."""
        lines.clear()
        for _ in range(seconds):
            report()
            now[0] += 1
        return lines.copy()

    (low,) = look(600)
    assert "has little room (1.0 GB of 200.0 GB free). Free some space: /data/runs" in low
    disks.now = [Disk(ALL, 0, 200 * GB)]
    full = look(181)
    assert len(full) == 4
    assert "is full (0 kB of 200.0 GB free)" in full[0]
    for _ in range(61):
        disks.now = [Disk(ALL, 0, 200 * GB)]
        full += look(1)
        disks.now = [Disk(ALL, GB, 200 * GB)]
        full += look(1)
    assert len(full) == 6
    disks.now = [Disk(ALL, 100 * GB, 200 * GB)]
    assert look(100) == ["the disk of the runs, the database, Valkey, the logs has room again"]
