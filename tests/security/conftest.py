"""A connection that outlives requests, and rows that outlive tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from django.test import override_settings
from pytest_django import DjangoDbBlocker


@pytest.fixture
def connected(db: None) -> Iterator[None]:
    """The database's connection outlives a request: it holds the test's transaction."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture(scope="module")
def module_transaction(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Keep what fixtures of a module write, rows and files of runs, until its last test has run.

    Each test is a savepoint of this transaction, so it finds the rows as the fixture left them.
    """
    with (
        django_db_blocker.unblock(),
        override_settings(RUNS_DIR=tmp_path_factory.mktemp("module") / "runs"),
        transaction.atomic(),
    ):
        yield
        transaction.set_rollback(True)
