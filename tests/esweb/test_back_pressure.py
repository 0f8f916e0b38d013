"""Pushes beyond a web process's capacity are refused immediately with a message; repeated later, they are stored."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from django.contrib.auth.models import User
from django.db import connection, connections
from django.test import Client

from esweb.middleware.back_pressure import BackPressure, Overloaded, PushSlots, check_connections
from runs import ingest
from runs.models import Attempt, Experiment, RecordFile
from tests.runs.api_client import calls
from tests.runs.attempt_records import make_attempt, make_run, metrics
from tests.waiting import PATIENCE_SECONDS, wait_until
from workers.records import pack

WRITERS, RECORDS = 16, 40
"""More writers than may push concurrently, and the records of each one's file."""


@pytest.fixture
def attempt(experiment: Experiment) -> Attempt:
    return make_attempt(make_run(experiment))


@pytest.fixture
def script(ada: User, attempt: Attempt) -> Client:
    return calls(ada, "ingest", run=attempt.run)


@pytest.fixture
def slots(monkeypatch: pytest.MonkeyPatch) -> PushSlots:
    """Allow one push, and one in the queue, for a twentieth of a second."""
    few = PushSlots(1, 1, 0.05)
    monkeypatch.setattr(BackPressure, "slots", few)
    return few


def push(script: Client, attempt: Attempt, count: int = 3) -> object:
    body = b"".join(pack(line.seq, line.t, line.record) for line in metrics(count))
    return script.post(f"/api/v1/attempts/{attempt.key}/records", body, content_type="application/jsonl")


def test_push_without_a_slot_is_refused_and_accepted_later(script: Client, attempt: Attempt, slots: PushSlots) -> None:
    with slots.occupied():
        refused = push(script, attempt)
    assert (refused.status_code, refused["Retry-After"]) == (429, "1")
    assert refused["Content-Type"] == "application/problem+json"
    assert refused.json()["detail"] == "Overloaded: no push finished within 0.05 s. Try again in 1 s"
    assert not RecordFile.objects.exists()
    assert push(script, attempt).json() == {"kept": 3, "next_seq": 3}


def test_pages_and_other_calls_take_no_slot(ada: User, slots: PushSlots) -> None:
    with slots.occupied():
        assert calls(ada, "read").get("/api/v1/runs").status_code == 200


def test_push_to_a_full_queue_is_refused_immediately() -> None:
    slots = PushSlots(1, 1, PATIENCE_SECONDS)
    with ExitStack() as cleanup, ThreadPoolExecutor(1) as threads:
        cleanup.enter_context(slots.occupied())
        second = threads.submit(_in_and_out, slots)
        wait_until(lambda: not slots._queue._value, "the second push to stand in line")
        with pytest.raises(Overloaded, match="1 pushes are being processed and 1 are waiting"), slots.occupied():
            pass
        cleanup.close()
        second.result(PATIENCE_SECONDS)


def test_slot_is_released_after_any_outcome() -> None:
    slots = PushSlots(1, 0, 0.01)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), slots.occupied():
            1 / 0  # noqa: B018
    with slots.occupied():
        pass


@pytest.mark.django_db(transaction=True)
def test_while_others_wait_for_a_connection_no_push_joins_them(
    script: Client, attempt: Attempt, pool_full: None
) -> None:
    refused = push(script, attempt)
    assert refused.status_code == 429
    assert "requests are waiting for one of 8 database connections" in refused.json()["detail"]


@pytest.mark.django_db(transaction=True)
def test_connection_that_is_being_opened_sends_nobody_away(monkeypatch: pytest.MonkeyPatch) -> None:
    connection.close()
    connections["default"].close_pool()
    pool, opened = connections["default"].pool, threading.Event()
    connect = pool._connect
    monkeypatch.setattr(pool, "_connect", lambda: opened.wait(PATIENCE_SECONDS) and connect())
    waits = threading.Thread(target=lambda: pool.putconn(pool.getconn(PATIENCE_SECONDS)))
    waits.start()
    wait_until(lambda: pool.get_stats()["pool_size"], "a connection to be opened")
    check_connections()
    opened.set()
    waits.join()


@pytest.fixture
def pool_full(script: Client, attempt: Attempt) -> Iterator[None]:
    """Lend every connection, and let one request wait for a connection."""
    pool = connections["default"].pool
    lent = []
    while (now := pool.get_stats())["pool_available"] or now["pool_size"] < pool.max_size:
        lent.append(pool.getconn(PATIENCE_SECONDS))
    waits = threading.Thread(target=lambda: pool.putconn(pool.getconn(PATIENCE_SECONDS)))
    waits.start()
    wait_until(lambda: pool.get_stats()["requests_waiting"], "a request to wait for a connection")
    yield
    for each in lent:
        pool.putconn(each)
    waits.join()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("runs", [1, WRITERS], ids=["the same run", "runs of their own"])
def test_concurrent_writers_store_each_record_once(experiment: Experiment, runs: int) -> None:
    attempts = [make_attempt(make_run(experiment, f"es {i}")) for i in range(runs)]
    everything = metrics(RECORDS)

    def write(number: int) -> None:
        """Push the whole file in pieces, each twice, by a writer that is behind or ahead of the others."""
        attempt = attempts[number % runs]
        sent, size = 0, 5 + number % 7
        while sent < RECORDS:
            try:
                result = ingest.push(attempt, 0, everything[sent : sent + size])
                ingest.push(attempt, 0, everything[max(0, sent - 3) : sent + size])
                sent = min(sent + size, result.next_seq)
            except ingest.Gap as gap:
                sent = gap.expected

    # This thread has a connection too, and the pool holds eight.
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda number: (write(number), connection.close()), range(WRITERS)))
    files = RecordFile.objects.all()
    assert [file.next_seq for file in files] == [RECORDS] * runs
    assert sum(run.series.get(key="reward/mean").points for run in [a.run for a in attempts]) == RECORDS * runs


def _in_and_out(slots: PushSlots) -> None:
    with slots.occupied():
        pass
