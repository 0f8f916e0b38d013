"""A program leaves the cores to others as its job says; its agent does not."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.waiting import wait_until
from tests.workers.attempts import RUNS_LONG, agent, attempt
from workers.agent import MAX_NICENESS
from workers.attempt import Process, read_json


@pytest.mark.skipif(sys.platform != "linux", reason="a process is looked up in /proc")
@pytest.mark.parametrize(("needs", "niceness"), [({}, 0), ({"niceness": 7}, 7), ({"niceness": 30}, MAX_NICENESS)])
def test_program_has_the_niceness_of_its_job(tmp_path: Path, needs: dict[str, int], niceness: int) -> None:
    directory = attempt(tmp_path / "attempt", RUNS_LONG, grace_seconds=0.1, **needs)
    ours = os.nice(0)
    with agent(directory) as running:
        try:
            wait_until(lambda: (directory / "started").exists(), "the program to begin")
            program = wait_until(lambda: Process.recorded(read_json(directory / "heartbeat.json")), "a heartbeat")
            assert os.getpriority(os.PRIO_PROCESS, program.pid) == min(MAX_NICENESS, ours + niceness)
            assert os.getpriority(os.PRIO_PROCESS, running.pid) == ours
            group = Path(f"/proc/{program.pid}/autogroup")
            if niceness and group.exists():
                assert group.read_text().split()[-1] == str(niceness)
        finally:
            running.terminate()
