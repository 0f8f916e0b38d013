"""The kernel's count of processes that it killed for lack of memory, from files of both kinds and from a real kill."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases import each_case
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.attempts import ENV, RUNS_LONG, agent, attempt, finish, read
from workers import oom_kills
from workers.attempt import Process
from workers.oom_kills import RecentOomKills, read_oom_kills

LIMIT_BYTES = 64 * 2**20
NEEDS_MORE = f"x = bytearray({4 * LIMIT_BYTES})"
V1, V2 = "9:name=systemd:/\n4:memory:/jobs/a\n0::/\n", "0::/jobs/a\n"
CONTROL = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"
EVENTS = "low 0\nhigh 0\nmax 12\noom 5\noom_kill 4\noom_group_kill 0\n"


@each_case(
    ("membership", "file", "content", "count"),
    [
        (V1, "memory/jobs/a/memory.oom_control", CONTROL, 3),
        (V1, "memory/memory.oom_control", CONTROL, 3),
        (V2, "jobs/a/memory.events", EVENTS, 4),
        (V2, "jobs/memory.events", EVENTS, 4),
        (V2, "memory.events", EVENTS, 4),
        (V2, "elsewhere/memory.events", EVENTS, None),
        (V2, "memory.events", "low 0\n", None),
        (V1, "jobs/a/memory.events", EVENTS, None),
        ("", "memory.events", EVENTS, None),
    ],
)
def test_count_is_read_in_the_nearest_group_with_a_controller(
    tmp_path: Path, membership: str, file: str, content: str, count: int | None
) -> None:
    mount = tmp_path / f"{abs(hash((membership, file, content)))}"
    (mount / file).parent.mkdir(parents=True)
    (mount / file).write_text(content)
    (mount / "cgroup").write_text(membership)
    assert read_oom_kills(mount / "cgroup", mount) == count


def test_machine_without_control_groups_has_no_count(tmp_path: Path) -> None:
    assert read_oom_kills(tmp_path / "cgroup", tmp_path) is None


def test_only_kills_of_the_last_minute_count(monkeypatch: pytest.MonkeyPatch) -> None:
    now, total = 0.0, 7
    monkeypatch.setattr(oom_kills.time, "monotonic", lambda: now)
    monkeypatch.setattr(oom_kills, "read_oom_kills", lambda: total)
    kills = RecentOomKills()
    for now, total, recent in ((1.0, 8, 1), (59.0, 8, 1), (62.0, 8, 0), (63.0, 9, 1)):  # noqa: B007
        kills.read()
        assert kills.count() == recent


@pytest.fixture
def small_group() -> Iterator[Path]:
    """Make a control group of little memory below this process' own."""
    line = next((line for line in oom_kills.MEMBERSHIP.read_text().splitlines() if ":memory:" in line), "")
    folder = oom_kills.MOUNT / "memory" / line.rpartition(":")[2].lstrip("/") / f"esweb-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no control group of limited memory can be made here: {error}")
    (folder / "memory.limit_in_bytes").write_text(str(LIMIT_BYTES))
    yield folder
    # The kernel may still count a process that has just ended.
    wait_until(lambda: not (folder / "cgroup.procs").read_text(), "the group to be empty")
    folder.rmdir()


def test_program_killed_by_the_kernel_is_recorded_with_its_count(small_group: Path, tmp_path: Path) -> None:
    enter = ("sh", "-c", 'echo $$ > "$0" && exec "$@"', str(small_group / "cgroup.procs"))
    argv = (sys.executable, "-m", "workers.agent", str(attempt(tmp_path, NEEDS_MORE)))
    subprocess.run([*enter, *argv], env=ENV, timeout=PATIENCE_SECONDS, check=False)
    ending = read(tmp_path / "exit.json")
    assert (ending["signal"], ending["oom_kills"]) == (9, 1)


@pytest.mark.skipif(read_oom_kills() is None, reason="no control group here counts such kills")
def test_program_killed_by_somebody_is_recorded_without_a_count(tmp_path: Path) -> None:
    process = agent(attempt(tmp_path, RUNS_LONG))
    wait_until((tmp_path / "heartbeat.json").exists, "the first heartbeat")
    program = Process.recorded(read(tmp_path / "heartbeat.json"))
    assert program is not None
    subprocess.run(["kill", "-9", str(program.pid)], check=True)
    finish(process)
    ending = read(tmp_path / "exit.json")
    assert (ending["signal"], ending["oom_kills"]) == (9, 0)
