"""What tests cost is measured by process and summed by package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests import cost
from tests.cost import ROOT
from tests.cost_plugin import VARIABLE

BURNS = """
import subprocess, sys, time
import pytest

BURN = "import time\\nwhile time.process_time() < 0.3: pass"

@pytest.fixture(scope="module")
def child():
    subprocess.run([sys.executable, "-c", BURN], check=True)

def test_with_a_child(child):
    pass

def test_with_a_running_child():
    process = subprocess.Popen([sys.executable, "-c", BURN + "\\nprint(1, flush=True)\\ntime.sleep(600)"], stdout=-1)
    process.stdout.readline()
    sys.running = process

def test_alone():
    sys.running.kill()
"""


def test_children_count_for_the_test_and_fixture_that_started_them(tmp_path: Path) -> None:
    (tmp_path / "test_burns.py").write_text(BURNS, encoding="utf-8")
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "tests.cost_plugin", "-c", os.devnull, "--rootdir", tmp_path]
    environment = {
        **os.environ, VARIABLE: str(tmp_path), "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }  # fmt: skip
    subprocess.run([*argv, tmp_path], cwd=tmp_path, env=environment, check=True, capture_output=True)
    costs = cost.read(tmp_path)
    seconds, setups = costs.fixtures["test_burns.child"]
    assert setups == 1 and seconds >= 0.3
    assert costs.files["test_burns.py"] >= 0.6
    assert costs.files["collection"] > 0
    assert costs.counts == {"test_burns.py": 3}


def test_packages_are_sums_of_their_files(tmp_path: Path) -> None:
    for number, (file, seconds) in enumerate(
        {
            "tests/runs/launching/test_a.py": 2.0,
            "tests/runs/launching/sweeps/test_b.py": 1.0,
            "tests/cli/test_c.py": 4.0,
        }.items()
    ):
        content = {"files": {file: seconds, "collection": 0.5}, "fixtures": {}, "tests": {f"{file}::test_x": [1, 1]}}
        (tmp_path / f"{number}.json").write_text(json.dumps(content), encoding="utf-8")
    costs = cost.read(tmp_path)
    assert costs.by_package() == {"tests/cli": 4.0, "tests/runs/launching": 3.0, "collection": 1.5}
    lines = cost.package_lines(costs)
    assert lines[2].split() == ["tests/runs/launching", "3.0", "2"]
    assert lines[-1].split() == ["total", "8.5", "3"]
    assert "| `tests/cli/test_c.py` | 4.0 | 1 |" in cost.markdown(costs, 10)
