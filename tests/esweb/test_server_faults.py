"""While a server is killed, frozen or full, requests are answered soon, and normally after the fault.

/healthz names the server that has frozen.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager

import httpx
import psycopg
import pytest
import redis
from django.db import OperationalError
from django.test import RequestFactory
from psycopg_pool import PoolTimeout

from esweb.embedded import Postgres, Valkey, database_url, postgres, redis_url
from esweb.middleware.outages import unavailable
from tests.esweb.web_process import LATE_SECONDS as HEALTH_SECONDS
from tests.esweb.web_process import REQUESTS, Site, WebProcess, frozen, running_site
from tests.waiting import PATIENCE_SECONDS, wait_until

PROMISED_SECONDS = 5.0
LATE_SECONDS = 2 * PROMISED_SECONDS
"""A busy machine is forgiven as much again."""
SPARE_THREADS = 14
"""One connection to the database each, of which there are 8, and those of the health check."""
COMMIT_KILLS = """
CREATE FUNCTION end_connection() RETURNS trigger LANGUAGE plpgsql AS
'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
CREATE CONSTRAINT TRIGGER end_connection AFTER INSERT ON runs_experiment
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION end_connection();
"""
"""The connection of a request that creates an experiment ends while its transaction is committed."""


@pytest.fixture(scope="module")
def server_that_recovers() -> Iterator[None]:
    """Let PostgreSQL recover from a crash itself, as one does that esweb does not start."""
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(postgres, "NO_CRASH_RESTART", ())
        yield


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, server_that_recovers: None) -> Iterator[Site]:
    """Start a healthy site with one user."""
    with running_site(tmp_path_factory.mktemp("site")) as running:
        yield running


@pytest.mark.parametrize("part", ["database", "redis"])
def test_health_names_a_frozen_server_within_seconds(site: Site, part: str) -> None:
    other = {"database": "redis", "redis": "database"}[part]
    with frozen(site.process.postgres if part == "database" else site.process.valkey):
        began = time.monotonic()
        status, parts = site.process.health()
        seconds = time.monotonic() - began
        assert (status, parts[part]) == (503, "does not answer")
        assert seconds < HEALTH_SECONDS, f"/healthz answered after {seconds:.1f} s"
        wait_until(lambda: site.process.health()[1][other] == "ok", "the other server to be reported as well")
    wait_until(lambda: site.process.health()[0] == 200, "the site to be well again")


def test_health_asks_a_frozen_database_in_one_thread_only(site: Site) -> None:
    site.process.health()
    before, counts = site.process.threads(), []
    with frozen(site.process.postgres):
        for _ in range(6):
            assert site.process.health()[0] == 503
            counts.append(site.process.threads())
    # Threads of the requests themselves, which end soon after the response, are at times among them.
    assert min(counts[2:]) <= before + 2, counts
    wait_until(lambda: site.process.health()[0] == 200, "the site to be well again")


@contextmanager
def killed(server: Postgres | Valkey) -> Iterator[None]:
    """Kill the server; it is started again after the block."""
    assert server.process is not None
    server.process.send_signal(signal.SIGKILL)
    server.process.wait(PATIENCE_SECONDS)
    yield
    server.start(PATIENCE_SECONDS)


@contextmanager
def backends_ended(process: WebProcess) -> Iterator[None]:
    """Cut every connection once, as a restart of PostgreSQL does between two requests."""
    with psycopg.connect(database_url(process.postgres.data), autocommit=True) as own:
        own.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    yield


@contextmanager
def backend_killed(process: WebProcess) -> Iterator[None]:
    """Kill a process of PostgreSQL, which then ends all its processes and recovers automatically."""
    with psycopg.connect(database_url(process.postgres.data)) as own:
        ((pid,),) = own.execute("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'").fetchall()
    os.kill(pid, signal.SIGKILL)
    yield
    wait_until(lambda: process.health()[1]["database"] == "ok", "PostgreSQL to recover")


@contextmanager
def out_of_memory(process: WebProcess) -> Iterator[None]:
    """Valkey refuses every write: OOM."""
    with redis.from_url(redis_url(process.valkey.data)) as client:
        client.config_set("maxmemory", 1)
        yield
        client.config_set("maxmemory", 0)


@contextmanager
def cannot_save(process: WebProcess) -> Iterator[None]:
    """Valkey refuses every write, because a folder is where its file belongs: MISCONF."""
    in_the_way = process.valkey.folder / "dump.rdb"
    in_the_way.mkdir()
    with redis.from_url(redis_url(process.valkey.data)) as client:
        client.config_set("save", "3600 1")
        client.bgsave()
        wait_until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err", "saving to fail")
        yield
        client.config_set("save", "")
    in_the_way.rmdir()


FAULTS: dict[str, Callable[[WebProcess], AbstractContextManager[None]]] = {
    "PostgreSQL killed": lambda process: killed(process.postgres),
    "PostgreSQL's connections cut": backends_ended,
    "a process of PostgreSQL killed": backend_killed,
    "PostgreSQL frozen": lambda process: frozen(process.postgres),
    "Valkey killed": lambda process: killed(process.valkey),
    "Valkey frozen": lambda process: frozen(process.valkey),
    "Valkey out of memory": out_of_memory,
    "Valkey unable to save": cannot_save,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_request_is_answered_within_seconds_and_works_after_the_fault(site: Site, fault: str) -> None:
    _fill_pool(site)
    logged = site.process.log.stat().st_size
    with FAULTS[fault](site.process):
        answers = {name: _timed(lambda ask=ask: ask(site)) for name, ask in REQUESTS.items()}
    wait_until(lambda: site.process.health()[0] == 200, "both servers to be well again")
    after = {name: ask(site).status_code for name, ask in REQUESTS.items()}
    slowest = max(seconds for _, seconds in answers.values())
    statuses = {name: answer.status_code for name, (answer, _) in answers.items()}
    print(f"{fault}: slowest answer {slowest:.2f} s of {PROMISED_SECONDS:g} s; {statuses}; then {after}")
    for name, (answer, seconds) in answers.items():
        assert seconds < LATE_SECONDS, f"{name} was answered after {seconds:.1f} s"
        assert answer.status_code in (200, 201, 503), f"{name}: {answer.status_code} {answer.text[:300]}"
        if answer.status_code == 503:
            assert int(answer.headers["Retry-After"]) > 0
            assert "again" in answer.text
    assert statuses["static file"] == 200
    assert all(status in (200, 201) for status in after.values()), after
    assert "Traceback" not in site.process.log.read_bytes()[logged:].decode()


def _fill_pool(site: Site) -> None:
    """Leave several connections in the pool: those that a fault breaks."""
    threads = [threading.Thread(target=site.page) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _timed(ask: Callable[[], httpx.Response]) -> tuple[httpx.Response, float]:
    began = time.monotonic()
    return ask(), time.monotonic() - began


def test_hundred_requests_to_a_frozen_database_leave_few_threads(site: Site) -> None:
    before = site.process.threads()
    with frozen(site.process.postgres), ThreadPoolExecutor(100) as visitors:
        answers = list(visitors.map(lambda _: _timed(site.api_read), range(100)))
        slowest = max(seconds for _, seconds in answers)
        wait_until(lambda: site.process.threads() <= before + SPARE_THREADS, "the threads of most requests to end")
        print(f"slowest of 100 answers {slowest:.2f} s; {site.process.threads() - before} threads more than before")
        assert {answer.status_code for answer, _ in answers} == {503}
        assert slowest < LATE_SECONDS
    wait_until(lambda: site.process.health()[0] == 200, "PostgreSQL to be well again")
    assert site.page().status_code == 200
    wait_until(lambda: site.process.threads() <= before + 2, "every thread to end after the fault")


def test_change_of_unknown_outcome_is_reported_as_unknown(site: Site) -> None:
    with psycopg.connect(database_url(site.process.postgres.data), autocommit=True) as own:
        own.execute(COMMIT_KILLS)
        try:
            answer = site.api_write()
        finally:
            own.execute("DROP FUNCTION end_connection CASCADE")
    assert answer.status_code == 503
    assert answer.json()["detail"].endswith(
        "It is unknown whether the change was stored: check before you send it again."
    )
    assert "nothing" not in answer.text
    assert site.api_write().status_code == 201


def test_request_without_a_connection_in_time_is_reported_as_overload(rf: RequestFactory) -> None:
    error = OperationalError("all 8 connections were in use for 3 s")
    error.__cause__ = PoolTimeout()
    answer = unavailable(rf.get("/api/v1/runs"), "database", error=error, began=True)
    detail = json.loads(answer.content)["detail"]
    assert detail == "The site is overloaded at the moment. Try again in a few seconds."


@pytest.mark.parametrize(
    ("path", "address"),
    [("/runs/", "/runs/?sort=%22&amp;page=2"), ("//elsewhere/", "/%2Felsewhere/?sort=%22&amp;page=2")],
)
def test_page_that_failed_can_be_opened_again_and_a_change_cannot(rf: RequestFactory, path: str, address: str) -> None:
    request = rf.get("/", QUERY_STRING="sort=%22&page=2")
    request.path = path
    page = unavailable(request, "database", began=True).content.decode()
    assert f'<a href="{address}">Try again</a>' in " ".join(page.split())
    assert "Try again</a>" not in unavailable(rf.post("/runs/"), "database", began=True).content.decode()
