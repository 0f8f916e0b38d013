"""Searches without a time limit, so that a busy machine fails no test."""

from __future__ import annotations

import pytest

from runs.compare import keys
from runs.responses.viewer import queries
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture(autouse=True)
def patient_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let PostgreSQL search for so long before it gives up. A test of giving up sets a limit of its own."""
    for module, name in ((keys, "SEARCH_MS"), (queries, "TIMEOUT_MS")):
        monkeypatch.setattr(module, name, int(1000 * PATIENCE_SECONDS))
