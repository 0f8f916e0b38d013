"""The disk of the jobs is full: waiting jobs keep waiting, and the end of a job is still recognised."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.small_disks import needs_small_disk, small_disk
from tests.waiting import wait_until
from workers.executors.base import Spec
from workers.executors.local import Local, job_lifecycle
from workers.executors.states import State

FILLS_THE_DISK = """
with open('ballast', 'ab', buffering=0) as ballast:
    try:
        while ballast.write(bytes(2**20)):
            pass
    except OSError:
        raise SystemExit(3)
"""
UNTIL_RELEASED = "import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.01)"


@needs_small_disk
def test_job_on_full_disk_waits_for_room(
    machine: Local, job: Callable[..., Spec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_lifecycle, "START_TRIES", 3)
    (tmp_path / "attempts").mkdir()
    with small_disk(tmp_path / "attempts", 1) as disk:
        first, second = job("first", UNTIL_RELEASED, cores=2), job("second", "open('ran', 'x')")
        machine.submit(first)
        machine.submit(second)
        disk.fill()
        (first.directory / "go").touch()
        seen = wait_until(
            lambda: (seen := machine.poll(["second"])["second"]) and "disk full" in seen.reason and seen,
            "the second job to say why it does not start",
        )
        for _ in range(job_lifecycle.START_TRIES):
            seen = machine.poll(["second"])["second"]
        assert seen is not None
        assert (seen.state, seen.reason.startswith(f"disk full: {second.directory}")) == (State.QUEUED, True), seen
        disk.make_room()
        wait_until(lambda: (seen := machine.poll(["second"])["second"]) and seen.state.is_final, "the second job")
        assert (second.directory / "ran").exists()
        ended = machine.poll(["first", "second"])
        assert [seen and seen.state for seen in ended.values()] == [State.SUCCEEDED, State.SUCCEEDED]


@needs_small_disk
def test_job_that_filled_queue_disk_is_failed(tmp_path: Path, machine: Local, job: Callable[..., Spec]) -> None:
    with small_disk(tmp_path, 1) as disk:
        machine.submit(job("greedy", FILLS_THE_DISK))
        seen = wait_until(
            lambda: (seen := machine.poll(["greedy"])["greedy"]) and seen.state.is_final and seen,
            "the job to be seen to have ended",
        )
        assert (seen.state, seen.native) == (State.FAILED, "exit 3")
        assert disk.free_bytes() == 0
        assert not [*(tmp_path / "queue" / "open").iterdir()]
        assert machine.poll(["greedy"])["greedy"] == seen
        disk.make_room()
