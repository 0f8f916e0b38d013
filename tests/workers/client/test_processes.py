from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tests.waiting import wait_until
from workers.client import processes
from workers.client.processes import Processes, tree

pytestmark = pytest.mark.skipif(not processes.PROC.exists(), reason="this machine has no /proc")
BUSY_SECONDS = 0.5
"""CPU time to measure: fifty ticks of the kernel's clock."""
# The parent waits; its child, whose name is hard to parse, keeps a core busy and 100 MB in memory.
FAMILY = """
import subprocess, sys
rename = "import ctypes; ctypes.CDLL(None).prctl(15, b') R (x', 0, 0, 0)"
child = f"{rename}; held = b'x' * 10**8; print(1, flush=True)\\nwhile True: pass"
process = subprocess.Popen([sys.executable, "-c", child], stdin=subprocess.DEVNULL)
try:
    sys.stdin.read()
finally:
    process.kill()
    process.wait()
"""


@pytest.fixture
def family() -> Iterator[int]:
    """The pid of a process with a busy child."""
    with subprocess.Popen([sys.executable, "-c", FAMILY], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        yield parent.pid


def test_process_tree_holds_only_descendants(family: int) -> None:
    stats = tree(family)
    assert stats[0].pid == family
    assert len(stats) == 2
    assert os.getpid() not in [stat.pid for stat in stats]
    assert {family} <= {stat.pid for stat in tree(os.getpid())}


def test_usage_includes_descendants(family: int) -> None:
    spent, began = cpu_seconds(family), time.monotonic()
    looker = Processes(family)
    wait_until(lambda: cpu_seconds(family) > spent + BUSY_SECONDS, "the busy child to use its core for a while")
    values = looker.read_usage()
    # Others may want the core too, so that the child had a share of it.
    share = BUSY_SECONDS / (time.monotonic() - began)
    assert 0.9 * share < values["system/cpu_cores"] < 1.2
    assert 0.1 < values["system/memory_gb"] < 1
    assert values["system/free_memory_gb"] > 0


def test_cpu_time_is_measured_since_last_look() -> None:
    works_then_waits = "import sys; sum(range(10**7)); print(flush=True); sys.stdin.read()"
    argv = [sys.executable, "-S", "-c", works_then_waits]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        looker = Processes(process.pid)
        assert process.stdout is not None
        process.stdout.readline()
        assert looker.read_usage()["system/cpu_cores"] > 0
        wait_until(
            lambda: looker.read_usage()["system/cpu_cores"] == 0, "a look at an idle process to count no CPU time"
        )


def cpu_seconds(root: int) -> float:
    """Return the CPU time that the process and its descendants have used."""
    return sum(stat.cpu_seconds for stat in tree(root))


def test_ended_process_has_no_usage() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
        looker = Processes(process.pid)
    assert looker.read_usage() == {}


def test_usage_is_empty_without_proc(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setattr(processes, "PROC", tmp_path)
    assert Processes(os.getpid()).read_usage() == {}
