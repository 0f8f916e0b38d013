"""`python -m tests.soak` runs parts for a given time, and prints amounts and result of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import soak, soak_plugin
from tests.soak import PARTS, ROOT, Part

LOOPS = """
from tests.soak_plugin import SECONDS, SEED, rounds

def test_goes_on():
    for number in rounds(2, "loops"):
        assert (SEED, SECONDS) == (7, 1)
"""
FAILS = "def test_fails():\n    assert False\n"
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
    assert loops.startswith("loops") and " loops " in loops and loops.endswith("passed")
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
    assert "no such part: caos; there are chaos, postgres, slurm" in capsys.readouterr().err


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
    # The clock is read three times a round, and so moves by 3 s; 10 s of 30 are for settling.
    assert len(list(soak_plugin.rounds(1, "kills", settling_seconds=10.0))) == 7


def test_parts_name_existing_tests() -> None:
    assert [test for part in PARTS for test in part.tests if not (ROOT / test.partition("::")[0]).exists()] == []
