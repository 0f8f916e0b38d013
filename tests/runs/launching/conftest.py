"""The local cluster of these tests: quick, with small programs, and ended with the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from runs import clusters
from runs.models import Cluster
from tests.runs.code_once import read_code_once
from tests.runs.local_cluster import Small, quicken


@pytest.fixture
def small(local: Cluster, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Small]:
    """Return the executor that every call to the local cluster reaches. Set its `program` before launching."""
    read_code_once(monkeypatch)
    shared = settings.DATA_DIR / "code"
    shared.mkdir(exist_ok=True)
    (tmp_path / "code").symlink_to(shared)
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"
    quicken(local)
    executor = Small(tmp_path / "queue", cores=2, beat_seconds=0.02)
    executor.submitted = []
    monkeypatch.setitem(clusters.EXECUTORS, "local", lambda cluster: executor)
    yield executor
    executor.interrupt(0.0)
