"""A connection that outlives requests, and a folder of runs that outlives tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import override_settings


@pytest.fixture
def open_connection(db: None) -> Iterator[None]:
    """Keep the database's connection open after a request: it holds the test's transaction."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture(scope="module")
def module_runs_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Set one folder of runs for all tests of a module, since their rows are shared (`shared_rows`)."""
    with override_settings(RUNS_DIR=tmp_path_factory.mktemp("module") / "runs"):
        yield
