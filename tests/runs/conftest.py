"""What tests of runs share: patient searches, one description of the API, and rows of a whole module."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from unittest import mock

import pytest
from django.db import transaction
from pytest_django import DjangoDbBlocker

from esweb.api import api
from runs.viewer import finding
from runs.views import compare_keys
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture(autouse=True)
def patient_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let PostgreSQL search for so long before it gives up. A test of giving up sets a limit of its own."""
    for module, name in ((compare_keys, "SEARCH_MS"), (finding, "PATIENCE_MS")):
        monkeypatch.setattr(module, name, int(1000 * PATIENCE_SECONDS))


@pytest.fixture(scope="package", autouse=True)
def described_once() -> Iterator[None]:
    """Let the API describe itself once: that takes half a second, and is the same for every request."""
    description = cache(api.get_openapi_schema)
    with mock.patch.object(api, "get_openapi_schema", lambda **_: description()):
        yield


@pytest.fixture(scope="module")
def shared_rows(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[DjangoDbBlocker]:
    """Yield what lets a fixture of a module write rows for all of its tests: `with shared_rows.unblock(): ...`

    Each test is a savepoint within one transaction, so that it sees these rows unchanged by the others. A module whose
    tests commit cannot use this.
    """
    with django_db_blocker.unblock():
        whole = transaction.atomic()
        whole.__enter__()
    yield django_db_blocker
    with django_db_blocker.unblock():
        transaction.set_rollback(True)
        whole.__exit__(None, None, None)
