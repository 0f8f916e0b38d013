"""The time of the first cancel request survives its process, and a changed system date does not change the grace."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from workers.executors.cancel_requests import CancelRequests


def test_first_cancel_request_sets_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert CancelRequests(tmp_path / "asked").seconds_since_first("a") == 0.0
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 50)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert 50 <= CancelRequests(tmp_path / "asked").seconds_since_first("a") < 51
    assert CancelRequests(tmp_path / "asked").seconds_since_first("b") == 0.0


def test_cancel_request_is_renewed_after_machine_restart(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"at": time.monotonic() + 9999}))
    assert CancelRequests(tmp_path).seconds_since_first("a") == 0.0
    assert json.loads((tmp_path / "a.json").read_text())["at"] <= time.monotonic()


def test_cancel_request_is_removed_when_job_ended(tmp_path: Path) -> None:
    cancellations = CancelRequests(tmp_path)
    cancellations.seconds_since_first("a")
    cancellations.remove("a")
    cancellations.remove("a")
    assert not list(tmp_path.iterdir())
