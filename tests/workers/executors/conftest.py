"""A small machine: two cores, frequent heartbeats. Leftover jobs of a test are ended by their recorded process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import PATIENCE_SECONDS
from tests.workers.attempts import python
from workers.executors.base import Spec
from workers.executors.local import Local


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Local]:
    local = Local(tmp_path / "queue", cores=2, beat_seconds=0.02)
    yield local
    local.interrupt(0.0)


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., Spec]:
    """Return a function: job("a", code) gives a spec whose directory is named like its key."""

    def make(key: str, code: str, **needs: Any) -> Spec:
        needs = {"grace_seconds": PATIENCE_SECONDS, **needs}
        return Spec(key, tmp_path / "attempts" / key, tuple(python(code)), **needs)

    return make
