"""A connection of Celery to a Valkey that was killed can be closed, whatever its channels were doing."""

from __future__ import annotations

from pathlib import Path

import pytest
from kombu import Connection, Consumer, Producer, Queue
from kombu.transport import redis as kombu_redis

from esweb import broker
from esweb.celery import app
from esweb.embedded import Valkey, redis_url
from esweb.env import celery_broker
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture
def valkey(tmp_path: Path) -> Valkey:
    """Start a Valkey of this test."""
    server = Valkey(tmp_path, durable=False)
    server.start()
    return server


def lose_connection(valkey: Valkey) -> Connection:
    """Return a connection as the worker has it after Valkey was killed: one message is neither acknowledged nor
    rejected, and two channels were waiting for the next one."""
    connection = Connection(celery_broker(redis_url(valkey.data)))
    assert isinstance(connection.transport, broker.Transport)
    first, second = connection.default_channel, connection.channel()
    Producer(first).publish({}, routing_key="jobs", declare=[Queue("jobs", channel=first)])
    for channel, name in ((first, "jobs"), (second, "others")):
        queue = Queue(name, channel=channel)
        queue.declare()
        Consumer(channel, [queue], on_message=lambda _: None).consume()
    connection.drain_events(timeout=PATIENCE_SECONDS)
    connection.transport.cycle.on_poll_start()
    valkey.stop(0)
    # As Celery's consumer does before it closes the connection.
    connection.collect(socket_timeout=1.0)
    return connection


def test_connection_to_killed_valkey_can_be_closed(valkey: Valkey) -> None:
    connection = lose_connection(valkey)
    connection.close()


def test_kombu_itself_cannot_close_a_connection_to_killed_valkey(
    valkey: Valkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a newer kombu needs no transport of ours."""
    monkeypatch.setattr(broker.Transport, "Channel", kombu_redis.Channel)
    connection = lose_connection(valkey)
    with pytest.raises(AttributeError, match="hostname"):
        connection.close()


def test_worker_uses_our_transport() -> None:
    assert isinstance(app.connection_for_read().transport, broker.Transport)
