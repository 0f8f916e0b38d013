from __future__ import annotations

import pytest

from tests.workers.forked import fork_programs
from workers.engine_nodes import processes


@pytest.fixture(autouse=True)
def forked_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the engines that trainings in the tests' process start."""
    fork_programs(monkeypatch, processes)
