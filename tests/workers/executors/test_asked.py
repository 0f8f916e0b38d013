"""Since when a job is asked to stop outlives whoever asked, and no set date shortens or lengthens the grace."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from workers.executors.asked import Asked


def test_the_first_time_counts_whoever_asks_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Asked(tmp_path / "asked").seconds("a") == 0.0
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 50)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert 50 <= Asked(tmp_path / "asked").seconds("a") < 51
    assert Asked(tmp_path / "asked").seconds("b") == 0.0


def test_after_a_restart_of_the_machine_it_is_asked_anew(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"at": time.monotonic() + 9999}))
    assert Asked(tmp_path).seconds("a") == 0.0
    assert json.loads((tmp_path / "a.json").read_text())["at"] <= time.monotonic()


def test_what_has_ended_is_forgotten(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    asked.seconds("a")
    asked.forget("a")
    asked.forget("a")
    assert not list(tmp_path.iterdir())
