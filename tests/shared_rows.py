"""Rows that all tests of a module share: created once, by a fixture of the module, and removed after its last test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import transaction
from pytest_django import DjangoDbBlocker


@pytest.fixture(scope="module")
def shared_rows(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[DjangoDbBlocker]:
    """Yield a blocker with which a module's fixture writes rows for all of its tests: `with shared_rows.unblock(): ...`

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
