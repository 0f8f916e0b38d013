"""A trainer's clock that passes the limit of a reward when the reward's code advances it, without real waiting."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.waiting import PATIENCE_SECONDS
from workers.tasks.own import process
from workers.tasks.own.process import Child, ChildFailed


def passing_the_limit(marks: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return code with which a reward puts the clock ahead; what it prints wakes the trainer.

    Each run of that code leaves a mark in the file `marks`.
    """
    clock, hung = SimpleNamespace(ahead=0.0, hangs=0), Child._hung
    marks.touch()

    def monotonic() -> float:
        if marks.stat().st_size > clock.hangs:
            clock.ahead += 2 * PATIENCE_SECONDS
        return time.monotonic() + clock.ahead

    def count(child: Child, reason: str) -> ChildFailed:
        clock.hangs += 1
        return hung(child, reason)

    monkeypatch.setattr(process, "time", SimpleNamespace(monotonic=monotonic))
    monkeypatch.setattr(Child, "_hung", count)
    return f"open({str(marks)!r}, 'a').write('x'); print('late', flush=True)"
