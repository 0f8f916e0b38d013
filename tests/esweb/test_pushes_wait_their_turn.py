"""Pushes beyond what a web process can take are sent away at once and in words; what they bring later is kept."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from django.contrib.auth.models import User
from django.db import connection, connections
from django.test import Client

from esweb.middleware.back_pressure import BackPressure, Full, Places, check_connections
from runs import ingest
from runs.models import Attempt, Experiment, RecordFile
from tests.runs.api_client import calls
from tests.runs.attempt_records import make_attempt, make_run, metrics
from tests.waiting import PATIENCE_SECONDS, wait_until
from workers.records import pack

WRITERS, RECORDS = 16, 40
"""More writers than may push at once, and the records of each one's file."""


@pytest.fixture
def attempt(experiment: Experiment) -> Attempt:
    return make_attempt(make_run(experiment))


@pytest.fixture
def script(ada: User, attempt: Attempt) -> Client:
    return calls(ada, "ingest", run=attempt.run)


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> Places:
    """One at a time, one in line, for a twentieth of a second."""
    few = Places(1, 1, 0.05)
    monkeypatch.setattr(BackPressure, "places", few)
    return few


def push(script: Client, attempt: Attempt, count: int = 3) -> object:
    body = b"".join(pack(line.seq, line.t, line.record) for line in metrics(count))
    return script.post(f"/api/v1/attempts/{attempt.key}/records", body, content_type="application/jsonl")


def test_who_finds_no_place_in_time_is_sent_away_with_a_word_and_taken_later(
    script: Client, attempt: Attempt, places: Places
) -> None:
    with places.taken():
        refused = push(script, attempt)
    assert (refused.status_code, refused["Retry-After"]) == (429, "1")
    assert refused["Content-Type"] == "application/problem+json"
    assert refused.json()["detail"] == "Too much at once: no push was finished within 0.05 s. Try again in 1 s"
    assert not RecordFile.objects.exists()
    assert push(script, attempt).json() == {"kept": 3, "next_seq": 3}


def test_pages_and_other_calls_take_no_place(ada: User, places: Places) -> None:
    with places.taken():
        assert calls(ada, "read").get("/api/v1/runs").status_code == 200


def test_who_finds_the_line_full_is_sent_away_at_once() -> None:
    places = Places(1, 1, PATIENCE_SECONDS)
    with ExitStack() as held, ThreadPoolExecutor(1) as threads:
        held.enter_context(places.taken())
        second = threads.submit(_in_and_out, places)
        wait_until(lambda: not places._line._value, "the second push to stand in line")
        with pytest.raises(Full, match="1 pushes are being dealt with and 1 wait already"), places.taken():
            pass
        held.close()
        second.result(PATIENCE_SECONDS)


def test_a_place_is_free_again_whatever_happened_in_it() -> None:
    places = Places(1, 0, 0.01)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), places.taken():
            1 / 0  # noqa: B018
    with places.taken():
        pass


@pytest.mark.django_db(transaction=True)
def test_while_others_wait_for_a_connection_no_push_joins_them(
    script: Client, attempt: Attempt, pool_full: None
) -> None:
    refused = push(script, attempt)
    assert refused.status_code == 429
    assert "requests wait for one of 8 connections to the database" in refused.json()["detail"]


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
    """Every connection is lent, and somebody waits for one."""
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
def test_of_writers_in_disorder_everything_is_kept_once(experiment: Experiment, runs: int) -> None:
    attempts = [make_attempt(make_run(experiment, f"es {i}")) for i in range(runs)]
    everything = metrics(RECORDS)

    def write(number: int) -> None:
        """The whole file in pieces, each twice, by a hand that is behind or ahead of the others."""
        attempt = attempts[number % runs]
        sent, size = 0, 5 + number % 7
        while sent < RECORDS:
            try:
                kept = ingest.push(attempt, 0, everything[sent : sent + size])
                ingest.push(attempt, 0, everything[max(0, sent - 3) : sent + size])
                sent = min(sent + size, kept.next_seq)
            except ingest.Gap as gap:
                sent = gap.expected

    # This thread has a connection too, and the pool holds eight.
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda number: (write(number), connection.close()), range(WRITERS)))
    files = RecordFile.objects.all()
    assert [file.next_seq for file in files] == [RECORDS] * runs
    assert sum(run.series.get(key="reward/mean").points for run in [a.run for a in attempts]) == RECORDS * runs


def _in_and_out(places: Places) -> None:
    with places.taken():
        pass
