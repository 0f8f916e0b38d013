"""Users of the tests: Ada owns, Bo is a colleague, Cy is a stranger. Neither Bo nor Cy may see Ada's private rows."""

from __future__ import annotations

import gc
import signal
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from pytest_django.fixtures import Settings

from esweb.middleware import rate_limits
from runs.models import Cluster, Experiment
from tests import migrated_database
from tests.connection_leaks import connection_leak_check
from tests.database_cleanup import fast_database_cleanup
from tests.shared_rows import shared_rows
from tests.web_speedups import fast_web_setup

__all__ = ["connection_leak_check", "fast_database_cleanup", "fast_web_setup", "shared_rows"]

# The same examples every time, and no limit on how long one takes: neither chance nor a busy machine fails a test.
hypothesis_settings.register_profile(
    "esweb", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("esweb")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without Python's cyclic garbage collector, which would look at thousands of tests again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        # A twentieth of the time went into its passes; ten times fewer of them halve that.
        gc.set_threshold(7000)
        gc.enable()


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """Give the tests' database its name in the copied folder, in each process, which has a PostgreSQL of its own.

    Django would put `test_` before the name of the database in use. Where that is the tests' already, since a process
    sets up its session for a second time after the last test in a browser, it would make and migrate another one.
    """
    connection.settings_dict["TEST"]["NAME"] = migrated_database.NAME


def person(name: str) -> User:
    """Create a user. Tests sign in with `force_login`: hashing passwords is slow on purpose."""
    return User.objects.create(username=name)


@pytest.fixture
def ada(db: None) -> User:
    """Create Ada, who owns the experiments."""
    return person("ada")


@pytest.fixture
def bo(db: None) -> User:
    """Create Bo, a colleague who sees rows that are not private."""
    return person("bo")


@pytest.fixture
def cy(db: None) -> User:
    """Create Cy, who neither sees private rows nor changes Ada's."""
    return person("cy")


@pytest.fixture
def ada_client(ada: User) -> Client:
    """Return Ada's browser, signed in."""
    client = Client()
    client.force_login(ada)
    return client


@pytest.fixture
def bo_client(bo: User) -> Client:
    """Return Bo's browser, signed in."""
    client = Client()
    client.force_login(bo)
    return client


@pytest.fixture
def cy_client(cy: User) -> Client:
    """Return Cy's browser, signed in."""
    client = Client()
    client.force_login(cy)
    return client


@pytest.fixture
def local(db: None) -> Cluster:
    """Return the cluster of this machine, as the migrations create it."""
    return Cluster.objects.get(name="local")


@pytest.fixture
def experiment(ada: User) -> Experiment:
    """Create Ada's public experiment."""
    return Experiment.objects.create(name="Concise", question="Does it learn to be concise?", owner=ada)


@pytest.fixture
def private_experiment(ada: User) -> Experiment:
    """Create Ada's private experiment."""
    return Experiment.objects.create(name="Secret", question="Will this be published?", owner=ada, is_private=True)


@pytest.fixture
def runs_dir(tmp_path: Path, settings: Settings) -> Path:
    """Return a folder of runs for this test alone."""
    settings.RUNS_DIR = tmp_path / "runs"
    return tmp_path / "runs"


@pytest.fixture
def frozen_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stop the clock of rate limits, for tests of them.

    On a busy machine Redis may be slower than a site waits for it, and the site then counts nothing. A call that should
    be refused may also come late enough to be accepted.
    """
    monkeypatch.setattr(rate_limits, "ANSWER_SECONDS", 60.0)
    monkeypatch.setattr(
        rate_limits, "TAKE", rate_limits.TAKE.replace("redis.call('TIME')", f"{{{int(time.time())}, 0}}")
    )
    rate_limits._valkey.cache_clear()
    yield
    rate_limits._valkey.cache_clear()


@pytest.fixture
def restored_signals() -> Iterator[None]:
    """Restore signal handlers after tests that call the trainer's command, which sets them in the tests' process."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR1)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
