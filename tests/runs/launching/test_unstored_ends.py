"""The end of a program is known before it is stored: while nothing ticks, as on a full disk, pages read its record."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from unittest import mock

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from runs.launching.reconcile import LateTicks, late_ticks, unstored_end
from runs.models import Cluster, Experiment, Run
from tests.cases import each_case
from tests.runs.local_cluster import Small, attempt_of, run_of, tick_once, tick_until
from tests.small_disks import SmallDisk, needs_small_disk, small_disk
from tests.waiting import wait_until
from workers.executors.states import State

WAITS_FOR_GO = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\nraise SystemExit({code})"


def end_without_a_tick(experiment: Experiment, small: Small, code: int) -> Run:
    """Let a run end with this exit code while it is stored as running."""
    small.program = WAITS_FOR_GO.format(code=code)
    run = run_of(experiment)
    directory = tick_until(run, State.RUNNING.value).directory
    (directory / "go").touch()
    wait_until((directory / "exit.json").exists, "the exit record")
    return run


@each_case(("code", "text"), [(0, "done"), (1, "ended with exit code 1"), (74, "disk full: ")])
def test_page_reports_the_recorded_end_of_a_run_that_is_stored_as_running(
    experiment: Experiment, small: Small, ada_client: Client, code: int, text: str
) -> None:
    run = end_without_a_tick(experiment, small, code)
    assert attempt_of(run).state == State.RUNNING.value
    page = " ".join(ada_client.get(run.get_absolute_url()).content.decode().split())
    assert f"The program has ended: {text}" in page and "This is not stored yet." in page
    assert "stopping" in page and " left" not in page
    tick_once(run)
    assert "The program has ended" not in ada_client.get(run.get_absolute_url()).content.decode()


def test_record_that_cannot_be_read_is_no_end(experiment: Experiment, small: Small) -> None:
    run = end_without_a_tick(experiment, small, 0)
    attempt = attempt_of(run)
    (attempt.directory / "exit.json").write_text('{"strange": 1}')
    assert unstored_end(attempt) == ""
    (attempt.directory / "exit.json").unlink()
    assert unstored_end(attempt) == ""


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> LateTicks:
    monkeypatch.setattr(late_ticks, "CHECK_SECONDS", 0.0)
    return LateTicks()


def test_state_follows_the_exit_record_while_no_worker_ticks(
    experiment: Experiment, small: Small, ticks: LateTicks, local: Cluster, settings: Settings
) -> None:
    run = end_without_a_tick(experiment, small, 74)
    ticks.tick_if_late()
    assert attempt_of(run).state == State.RUNNING.value, "a worker has ticked just now"
    late = timedelta(seconds=late_ticks.LATE_TICKS * settings.TICK_SECONDS + 1)

    def has_followed() -> bool:
        for age in (-late, late):
            Cluster.objects.update(ticked_at=timezone.now() - age)
            assert late_ticks.overdue_clusters() == [local]
        ticks.tick_if_late()
        # The first tick may come before the agent has ended.
        return attempt_of(run).state != State.RUNNING.value

    wait_until(has_followed, "the state to follow the exit record")
    ended = attempt_of(run)
    assert (ended.state, ended.exit_code, ended.reason[:10]) == (State.FAILED.value, 74, "disk full:")
    Cluster.objects.update(ticked_at=None)
    assert late_ticks.overdue_clusters() == [], "no open attempt is left"


def test_late_tick_of_other_clusters_is_left_to_the_workers(experiment: Experiment, small: Small) -> None:
    run_of(experiment)
    Cluster.objects.update(kind="slurm", ticked_at=None)
    assert late_ticks.overdue_clusters() == []


def test_late_tick_without_a_database_is_logged_once(
    ticks: LateTicks, local: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        mock.patch.object(late_ticks, "overdue_clusters", side_effect=OperationalError("disk full")),
        mock.patch.object(late_ticks, "connections"),
    ):
        for _ in range(3):
            ticks.tick_if_late()
    assert caplog.text.count("Follower cannot store the states of local runs") == 1


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """Mount a disk for the folder of runs."""
    folder = tmp_path / "runs"
    folder.mkdir()
    with small_disk(folder, 8) as mounted:
        yield mounted


@needs_small_disk
def test_run_whose_exit_record_does_not_fit_is_no_longer_running(
    experiment: Experiment, small: Small, disk: SmallDisk
) -> None:
    small.program = "import os, time\nwhile os.statvfs('.').f_bavail: time.sleep(0.01)\nraise SystemExit(74)"
    run = run_of(experiment)
    directory = tick_until(run, State.RUNNING.value).directory
    wait_until((directory / "heartbeat.json").exists, "the first heartbeat")
    # As on a disk that writes every change elsewhere, where reserved space is worth nothing.
    (directory / "claim" / "reserve").unlink()
    disk.fill()
    waiting = tick_until(run, State.STOPPING.value)
    assert waiting.reason.startswith("disk full: its program has ended, and its exit record cannot be written to ")
    disk.make_room()
    assert tick_until(run, State.FAILED.value).exit_code == 74
