"""One URL each for the database and Redis, in a form that every library accepts."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured
from kombu import Connection

from esweb import env


def test_a_database_on_another_host() -> None:
    read = env.database("postgresql://ann:p%40ss@db.example:6432/runs?sslmode=require")
    assert (read["USER"], read["PASSWORD"], read["HOST"], read["PORT"]) == ("ann", "p@ss", "db.example", "6432")
    assert (read["NAME"], read["OPTIONS"]) == ("runs", {"sslmode": "require"})


def test_a_database_on_a_socket() -> None:
    read = env.database("postgresql://esweb@/esweb?host=/data/with%20space/sockets")
    assert (read["HOST"], read["PORT"], read["OPTIONS"]) == ("/data/with space/sockets", "", {})


@pytest.mark.parametrize("url", ["sqlite:///file", "postgresql://host", "postgresql://host/", "mysql://h/n"])
def test_another_database_is_refused(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL must have the form"):
        env.database(url)


def test_celery_is_given_a_socket_in_its_own_spelling() -> None:
    broker = env.celery_broker("unix:///data/with%20space/valkey.sock?db=2")
    assert broker == "redis+socket:///data/with%20space/valkey.sock?virtual_host=2"
    with Connection(broker) as connection:
        assert connection.transport_cls == "redis"


@pytest.mark.parametrize("url", ["redis://cache.example:6379/1", "rediss://:secret@cache.example/0"])
def test_celery_is_given_hosts_as_they_are(url: str) -> None:
    assert env.celery_broker(url) == url


def test_another_queue_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="REDIS_URL must start with"):
        env.celery_broker("amqp://guest@localhost")
