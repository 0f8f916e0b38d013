"""The pool of connections: threads get them in turn, and wait as long as others give theirs back."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from psycopg_pool import PoolTimeout

from esweb.bootstrap import health
from esweb.database.pool import MAX_WAIT_SECONDS, Pool
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.django_db
TIMEOUT_SECONDS = 3.0


@pytest.fixture
def pool() -> Iterator[Pool]:
    """Yield a pool of two connections."""
    params = connection.get_connection_params() | {"autocommit": True}
    opened = Pool(lambda: psycopg.connect(**params), max_size=2, timeout=PATIENCE_SECONDS)
    yield opened
    opened.close()


def test_connections_are_lent_in_the_order_of_requests(pool: Pool) -> None:
    lent, order, may_end = [pool.getconn(), pool.getconn()], list[int](), threading.Event()

    def borrow(number: int) -> None:
        with pool.connection():
            order.append(number)
            assert may_end.wait(PATIENCE_SECONDS)

    with ThreadPoolExecutor(5) as threads:
        for number in range(5):
            threads.submit(borrow, number)
            wait_until(lambda number=number: pool.get_stats()["requests_waiting"] == number + 1, "it to wait")  # type: ignore[misc]
        may_end.set()
        pool.putconn(lent.pop())
        wait_until(lambda: len(order) == 5, "all five to have had a connection")
    pool.putconn(lent.pop())
    assert order == [0, 1, 2, 3, 4]
    assert pool.get_stats() == {"pool_size": 2, "pool_available": 2, "requests_waiting": 0}


def test_thread_waits_as_long_as_connections_are_given_back(pool: Pool) -> None:
    started_at = time.monotonic()
    pool._moved_at = started_at - 1
    assert pool._gives_up_at(started_at, TIMEOUT_SECONDS) == started_at + TIMEOUT_SECONDS
    pool._moved_at = started_at + 10
    assert pool._gives_up_at(started_at, TIMEOUT_SECONDS) == started_at + 10 + TIMEOUT_SECONDS
    pool._moved_at = started_at + MAX_WAIT_SECONDS
    assert pool._gives_up_at(started_at, TIMEOUT_SECONDS) == started_at + MAX_WAIT_SECONDS


def test_pool_in_which_nothing_moves_refuses(pool: Pool) -> None:
    lent = [pool.getconn(), pool.getconn()]
    with pytest.raises(PoolTimeout, match=r"all 2 connections were in use for 0\.01 s"):
        pool.getconn(0.01)
    assert pool.get_stats()["requests_waiting"] == 0
    for one in lent:
        pool.putconn(one)
    with pool.connection() as usable:
        assert usable.execute("SELECT 1").fetchone() == (1,)


def test_slot_of_a_failed_connection_goes_to_the_next_thread(pool: Pool) -> None:
    def refuse() -> psycopg.Connection[object]:
        raise psycopg.OperationalError("no server")

    working, pool._connect = pool._connect, refuse
    for _ in range(3):
        with pytest.raises(psycopg.OperationalError):
            pool.getconn()
    pool._connect = working
    with pool.connection(), pool.connection():
        assert pool.get_stats()["pool_size"] == 2


def test_database_that_answers_others_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new connection takes longer than a check on a busy machine."""

    def answer_a_statement(_: float = 0.0) -> dict[str, str]:
        connection.cursor().execute("SELECT 1")
        return {"database": health.SILENT, "redis": health.OK}

    monkeypatch.setattr(health, "_answers", answer_a_statement)
    assert health.silent_server() == ""
    monkeypatch.setattr(health, "_answers", lambda _=0.0: {"database": health.SILENT, "redis": health.OK})
    assert health.silent_server() == "database"


@pytest.mark.parametrize(("waited_seconds", "silent"), [(0.1, "redis"), (1.2, "")])
def test_server_of_a_busy_machine_gets_more_time(
    tmp_path: Path, waited_seconds: float, silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file counts the time for which processes have waited for a core, in microseconds."""
    pressure, times = tmp_path / "cpu", list[float | None]()
    pressure.write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=5000000\nfull avg10=0.00 total=0\n")
    monkeypatch.setattr(health, "CPU_PRESSURE", pressure)

    def answer_late(seconds: float | None = None) -> dict[str, str]:
        times.append(seconds)
        pressure.write_text(f"some avg10=0.00 total={5_000_000 + round(waited_seconds * 1e6)}\n")
        return {"database": health.OK, "redis": health.SILENT if seconds is None else health.OK}

    monkeypatch.setattr(health, "_answers", answer_late)
    assert health.silent_server() == silent
    assert times == ([None] if silent else [None, health.BUSY_ANSWER_SECONDS - health.ANSWER_SECONDS])
    pressure.unlink()
    assert health._core_wait_seconds() == 0.0
