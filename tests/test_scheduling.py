"""Every test runs although a worker of pytest-xdist crashes: on real workers, in a folder of tests of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scheduling import BROWSER, TOGETHER, unit_of
from tests.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[1]
FILES = {
    f"{BROWSER}test_a.py": "import os\ndef test_crashes():\n    os._exit(1)\ndef test_after_the_crash():\n    pass\n",
    f"{BROWSER}test_b.py": "def test_of_a_browser():\n    pass\n",
    "tests/test_c.py": "def test_short():\n    pass\n",
    "tests/test_d.py": "import time\ndef test_long():\n    time.sleep({seconds})\n",
}
"""Test files. In the browser's first file a test ends its worker. The other worker then sleeps or is idle."""
LATE_NOTICE = """
import time
from tests.scheduling import UnitScheduling
from xdist.workermanage import Marker, WorkerController
assign = UnitScheduling._assign_work_unit
process = WorkerController.process_from_remote
def assign_and_pause(self, node):
    assign(self, node)
    time.sleep(0.5)
def process_late(self, event):
    if event is Marker.END:
        time.sleep(2)
    process(self, event)
UnitScheduling._assign_work_unit = assign_and_pause
WorkerController.process_from_remote = process_late
"""
"""A conftest.py with which the worker crashes before it gets its second unit, and pytest-xdist notices it later."""


@pytest.mark.parametrize(("seconds", "late"), [(0, False), (3, False), (0, True)])
def test_remaining_tests_run_after_worker_crash(tmp_path: Path, seconds: int, late: bool) -> None:
    files = FILES | {"conftest.py": LATE_NOTICE} if late else FILES
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(seconds=seconds))
    plugins = ["-p", "xdist", "-p", "tests.scheduling", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *plugins, "-n", "2", "-v"]
    result = subprocess.run(
        [*command, "--rootdir", str(tmp_path), "-c", os.devnull, str(tmp_path)],
        cwd=tmp_path,
        # The plugins of the whole suite take most of a pytest's start, and three are started here.
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert "1 failed, 4 passed" in result.stdout, result.stdout + result.stderr
    assert "crashed while running 'tests/browser/test_a.py::test_crashes'" in result.stdout


def test_all_tests_on_ray_are_of_one_unit() -> None:
    """Ray names a job's head by looking for one on the machine, so there must not be a second one."""
    users = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests" / "clusters").glob("test_*.py")
        if "RayHead" in (text := path.read_text()) or "ray_executor" in text
    ]
    assert len(users) >= 8
    assert {unit_of(f"{path}::test") for path in users} == {TOGETHER[0]}
