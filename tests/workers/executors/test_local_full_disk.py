"""The disk of the jobs fills while one waits in line: it goes on waiting, and starts when there is room."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.small_disks import needs_small_disk, small_disk
from tests.waiting import wait_until
from workers.executors import local
from workers.executors.base import Spec
from workers.executors.local import Local
from workers.executors.states import State

UNTIL_TOLD = "import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.01)"


@needs_small_disk
def test_a_job_whose_disk_is_full_waits_for_room_however_often_it_is_tried(
    machine: Local, job: Callable[..., Spec], tmp_path: Path
) -> None:
    (tmp_path / "attempts").mkdir()
    with small_disk(tmp_path / "attempts", 1) as disk:
        first, second = job("first", UNTIL_TOLD, cores=2), job("second", "open('ran', 'x')")
        machine.submit(first)
        machine.submit(second)
        disk.fill()
        (first.directory / "go").touch()
        seen = wait_until(
            lambda: (seen := machine.poll(["second"])["second"]) and "disk full" in seen.reason and seen,
            "the second job to say why it does not start",
        )
        for _ in range(local.START_TRIES):
            seen = machine.poll(["second"])["second"]
        assert seen is not None
        assert (seen.state, seen.reason.startswith(f"disk full: {second.directory}")) == (State.QUEUED, True), seen
        disk.make_room()
        wait_until(lambda: (seen := machine.poll(["second"])["second"]) and seen.state.is_final, "the second job")
        assert (second.directory / "ran").exists()
        ended = machine.poll(["first", "second"])
        assert [seen and seen.state for seen in ended.values()] == [State.SUCCEEDED, State.SUCCEEDED]
