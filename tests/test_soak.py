"""`python -m tests.soak` runs parts for a given time, and prints amounts and result of each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import soak, soak_plugin
from tests.soak import MARKED_PACKAGES, PARTS, ROOT, Part

LOOPS = """
from tests.soak_plugin import SECONDS, SEED, rounds

def test_goes_on():
    for number in rounds(2, "loops"):
        assert (SEED, SECONDS) == (7, 1)
"""
FAILS = "def test_fails():\n    assert False\n"
MARK = "mark." + "soak"
ONE_IS_MARKED = f"import pytest\n\n@pytest.{MARK}\ndef test_long():\n    pass\n\ndef test_short():\n    pass\n"
IS_SKIPPED = "import pytest\n\ndef test_is_skipped():\n    pytest.skip('no Slurm')\n"


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set three parts that loop, fail and are skipped."""
    texts = {"loops": LOOPS, "fails": FAILS, "skipped": IS_SKIPPED}
    for name, text in texts.items():
        (tmp_path / f"test_{name}.py").write_text(text, encoding="utf-8")
    # No plugins: the project's start servers, and all others take a second each time.
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT}", encoding="utf-8")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setattr(soak, "PARTS", [Part(name, "", (str(tmp_path / f"test_{name}.py"),)) for name in texts])


@pytest.mark.usefixtures("parts")
def test_table_shows_result_of_each_part(capfd: pytest.CaptureFixture[str]) -> None:
    assert soak.main(["--duration", "1", "--seed", "7"]) == 1
    printed = capfd.readouterr().out
    *_, header, _, loops, fails, skipped = printed.splitlines()
    assert header.split() == ["part", "seed", "duration", "done", "result"]
    assert loops.startswith("loops") and loops.endswith(" loops, 1 tests  passed")
    assert fails.startswith("fails") and fails.endswith("failed (exit code 1)")
    assert skipped.startswith("skipped") and "1 skipped tests" in skipped and skipped.endswith("skipped")
    assert "Seed 7, 1 s" in printed
    assert "again: make soak PART=fails DURATION=1 SEED=7" in printed


@pytest.mark.usefixtures("parts")
def test_named_part_runs_alone(capfd: pytest.CaptureFixture[str]) -> None:
    assert soak.main(["loops", "--duration", "1", "--seed", "7"]) == 0
    assert "== fails" not in capfd.readouterr().out


def test_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        soak.main(["caos"])
    assert "no such part: caos; there are chaos, postgres, loss, slurm" in capsys.readouterr().err


def test_rounds_are_few_outside_soak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak_plugin, "SECONDS", 0.0)
    assert list(soak_plugin.rounds(3, "kills")) == [0, 1, 2]
    assert soak_plugin.seed(6) == 6


def test_round_starts_only_if_it_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(0, 1000))
    monkeypatch.setattr(soak_plugin.time, "monotonic", lambda: next(now))
    monkeypatch.setattr(soak_plugin, "SECONDS", 30.0)
    monkeypatch.setattr(soak_plugin, "_started_at", 0.0)
    monkeypatch.setattr(soak_plugin, "_tests", [])
    monkeypatch.setattr(soak_plugin, "_position", 0)
    # The clock is read three times a round, and so moves by 3 s; 10 s of 30 are for settling.
    assert len(list(soak_plugin.rounds(1, "kills", settling_seconds=10.0))) == 7


def test_parts_name_existing_tests() -> None:
    assert [test for part in PARTS for test in part.tests if not (ROOT / test.partition("::")[0]).exists()] == []


def test_each_marked_test_belongs_to_a_part() -> None:
    marked = {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py") if MARK in path.read_text()
    }
    of_files = {test.partition("::")[0] for part in PARTS if not part.is_marked for test in part.tests}
    packages = {file.split("/")[1] for file in marked - of_files}
    assert packages - set(MARKED_PACKAGES) == set(), "no part runs what is marked here"
    assert set(MARKED_PACKAGES) - packages == set(), "nothing is marked here"


def test_part_of_a_package_runs_what_is_marked(tmp_path: Path) -> None:
    part = next(part for part in PARTS if part.is_marked)
    (tmp_path / "test_a.py").write_text(ONE_IS_MARKED, encoding="utf-8")
    assert "1 passed, 1 deselected" in run_pytest(tmp_path, *part.options)
    assert "1 passed, 1 deselected" in run_pytest(tmp_path)
    assert "2 passed" in run_pytest(tmp_path, "--soak")


def run_pytest(folder: Path, *options: str) -> str:
    """Return what the tests in this folder print with the soak's plugin."""
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "tests.soak_plugin", "-c", os.devnull, "--rootdir", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [*argv, "-W", "ignore", *options, str(folder)]
    return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout
