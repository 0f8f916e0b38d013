"""The local cluster of these tests: quick, with small programs, and ended with the test."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from runs import clusters
from runs.launching import code
from runs.models import Cluster
from tests.runs.local_cluster import Small, quicken
from workers.code import bundle_path, code_of, unpack_package

code_of_once = cache(code_of)


@pytest.fixture
def small(local: Cluster, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Small]:
    """Return the executor that every call to the local cluster reaches. Set its `program` before launching."""
    # The code is read, by four calls of git too, and bundled once for all tests, and not again for each.
    monkeypatch.setattr(code, "code_of", code_of_once)
    monkeypatch.setattr(code, "unpack_package", unpacked_once)
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


def unpacked_once(root: Path) -> Path:
    """Return the folder under `root` that holds this code, without looking at the code again if it is there."""
    sha256 = code_of_once().sha256
    is_there = bundle_path(root, sha256).is_file() and (root / sha256).is_dir()
    return root / sha256 if is_there else unpack_package(root)
