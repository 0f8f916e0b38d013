from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tests.workers.attempts import until
from workers.client import processes
from workers.client.processes import Processes, tree

pytestmark = pytest.mark.skipif(not processes.PROC.exists(), reason="this machine has no /proc")
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


def test_a_process_is_found_with_its_descendants_and_nobody_elses(family: int) -> None:
    found = tree(family)
    assert found[0].pid == family
    assert len(found) == 2
    assert os.getpid() not in [stat.pid for stat in found]
    assert {family} <= {stat.pid for stat in tree(os.getpid())}


def test_what_the_descendants_use_counts(family: int) -> None:
    looker = Processes(family)

    def after_a_while() -> dict[str, float]:
        time.sleep(0.5)
        return looker.look()

    # Others may want the cores too. One busy process never counts as much more than one core, but for a look that was
    # itself held up between the clock and the process.
    values = until(lambda: 0.05 < (found := after_a_while())["system/cpu_cores"] < 1.5 and found)
    assert 0.1 < values["system/memory_gb"] < 1
    assert values["system/free_memory_gb"] > 0


def test_cpu_time_is_that_since_the_last_look() -> None:
    looker = Processes(os.getpid())
    sum(range(3_000_000))
    looker.look()
    # What other tests have left running may want a core for a moment.
    until(lambda: time.sleep(0.3) or looker.look()["system/cpu_cores"] < 0.5)


def test_nothing_is_said_of_a_process_that_is_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
        looker = Processes(process.pid)
    assert looker.look() == {}


def test_nothing_is_said_where_there_is_no_proc(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setattr(processes, "PROC", tmp_path)
    assert Processes(os.getpid()).look() == {}
