"""Slow searches of some users leave the database to others: few run at the same time, in turn, and each for a short
time. A search that gets no turn is answered *busy*."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from esweb.middleware.busy_slots import BusySlots
from runs.http import search_slots
from runs.http.search_slots import MAX_CONCURRENT_SEARCHES, MAX_SEARCH_SECONDS, SearchesBusy, SearchSlots
from runs.http.user_slots import POOL_SIZE
from runs.models import Experiment, Run
from runs.run_page.log import files
from runs.run_page.log.files import SearchStopped, find
from tests.runs.full_runs import record
from tests.runs.viewer_responses import address, make_response, model
from tests.waiting import PATIENCE_SECONDS, wait_until
from workers.records import Metric

CONNECTIONS = 12
"""More than there are connections to the database."""


def occupy(slots: SearchSlots, reader: int | None, order: list[int | None], end: threading.Event) -> None:
    """Search until the event, and append the reader to the order of turns."""
    with slots.occupied(reader):
        order.append(reader)
        assert end.wait(PATIENCE_SECONDS)


def test_user_with_many_searches_delays_only_these() -> None:
    slots, order, end = SearchSlots(1, PATIENCE_SECONDS), list[int | None](), threading.Event()
    with ThreadPoolExecutor(20) as threads:
        searches = [threads.submit(occupy, slots, 1, order, end)]
        wait_until(lambda: order, "the first search to begin")
        for number, reader in enumerate([1] * CONNECTIONS + [2, 3, 3], 1):
            searches.append(threads.submit(occupy, slots, reader, order, end))
            wait_until(lambda number=number: slots.waiting == number, "the search to wait")  # type: ignore[misc]
        end.set()
        for search in searches:
            search.result(PATIENCE_SECONDS)
    assert order == [1, 2, 3, 1, 3] + [1] * (CONNECTIONS - 1)


def test_user_has_one_slot_of_several() -> None:
    slots, order, end = SearchSlots(3, PATIENCE_SECONDS), list[int | None](), threading.Event()
    with ThreadPoolExecutor(4) as threads:
        for reader in (1, 1, 1, 2):
            threads.submit(occupy, slots, reader, order, end)
        wait_until(lambda: len(order) == 2 and slots.waiting == 2, "both users to have a slot")
        end.set()
    assert sorted(order[:2], key=int) == [1, 2]  # type: ignore[arg-type]


def test_slot_is_free_after_a_failed_search() -> None:
    slots = SearchSlots(1, 0.0)
    with pytest.raises(ZeroDivisionError), slots.occupied(1):
        raise ZeroDivisionError
    with slots.occupied(2), pytest.raises(SearchesBusy), slots.occupied(3):
        pytest.fail("two searches have the only slot")
    with slots.occupied(3):
        assert slots.waiting == 0


def test_searches_leave_connections_to_pages() -> None:
    assert 1 <= MAX_CONCURRENT_SEARCHES <= POOL_SIZE // 4
    assert MAX_SEARCH_SECONDS <= 2.0 < search_slots.PATIENCE_SECONDS


@pytest.fixture
def run(experiment: Experiment, runs_dir: Path) -> Run:
    """Create a run with responses, series and a log."""
    responses = [make_response(n, "a" * 200, 1.0, None) for n in range(3)]
    searched = model(experiment, "searched", responses)
    record(searched, [Metric(1, {"own/loss": 1.0})])
    folder = searched.attempts.get().directory
    folder.mkdir(parents=True)
    (folder / "log.txt").write_text("one\ntwo\nthree\n")
    return searched


def searches(run: Run) -> dict[str, str]:
    """Return the address of each kind of search."""
    return {
        "responses": address(run, q="a", **{"as": "regex"}),
        "words in responses": address(run, q="a"),
        "responses of a file": address(run, route="viewer-export", q="a"),
        "keys": f"{reverse('compare')}?run={run.uid}&key=own",
        "log": f"{reverse('run-log', args=[run.uid])}?log_find=two",
    }


@pytest.fixture
def no_slot(monkeypatch: pytest.MonkeyPatch) -> Iterator[SearchSlots]:
    """Occupy the only slot, for which nobody waits for long."""
    slots = SearchSlots(1, 0.0)
    monkeypatch.setattr(search_slots, "slots", slots)
    with slots.occupied(0):
        yield slots


def test_search_without_a_slot_is_answered_busy(ada_client: Client, run: Run, no_slot: SearchSlots) -> None:
    for kind, where in searches(run).items():
        answer = ada_client.get(where)
        assert (kind, answer.status_code, answer["Retry-After"]) == (kind, 503, "5")
        page = answer.content.decode()
        assert "Other searches are running, so this one has not begun." in page
        assert f'href="{where.replace("&", "&amp;")}"' in page
        fragment = ada_client.get(where, HTTP_HX_REQUEST="true").content.decode()
        assert fragment == "Other searches are running, so this one has not begun. Try again in a few seconds."


def test_busy_search_over_the_api_is_a_problem_document() -> None:
    request = RequestFactory().get("/api/v1/runs")
    answer = BusySlots(lambda _: HttpResponse()).process_exception(request, SearchesBusy())
    assert answer is not None
    assert (answer.status_code, answer["Retry-After"], answer["Content-Type"]) == (503, "5", "application/problem+json")


def test_pages_without_a_search_take_no_slot(ada_client: Client, run: Run, no_slot: SearchSlots) -> None:
    for where in (address(run), f"{reverse('compare')}?run={run.uid}", reverse("run-log", args=[run.uid])):
        assert ada_client.get(where).status_code == 200


def test_searches_succeed_and_release_their_slot(ada_client: Client, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_slots, "slots", SearchSlots(1, 0.0))
    for where in searches(run).values():
        assert ada_client.get(where).status_code == 200


def test_search_is_stopped_after_two_seconds(ada_client: Client, run: Run) -> None:
    with CaptureQueriesContext(connection) as queries:
        ada_client.get(searches(run)["responses"])
        ada_client.get(searches(run)["keys"])
    limits = [query["sql"] for query in queries if "statement_timeout" in query["sql"]]
    assert any("statement_timeout = 2000" in sql for sql in limits)
    assert any("'500'" in sql for sql in limits)


@pytest.mark.django_db(transaction=True)
def test_waiting_searches_hold_no_connection(ada: User, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    slots = SearchSlots(1, PATIENCE_SECONDS)
    monkeypatch.setattr(search_slots, "slots", slots)
    browsers = [Client() for _ in range(CONNECTIONS)]
    for browser in browsers:
        browser.force_login(ada)
    pool: Any = connection.pool  # type: ignore[attr-defined]
    connection.close()
    with ThreadPoolExecutor(CONNECTIONS) as threads, ExitStack() as stack:
        stack.enter_context(slots.occupied(0))
        answers = [threads.submit(get_and_disconnect, browser, searches(run)["responses"]) for browser in browsers]
        wait_until(lambda: slots.waiting == CONNECTIONS, "all searches to wait")
        stats = pool.get_stats()
        stack.close()
        statuses = [answer.result(PATIENCE_SECONDS) for answer in answers]
    assert stats["pool_size"] == stats["pool_available"]
    assert statuses == [200] * CONNECTIONS


def get_and_disconnect(browser: Client, where: str) -> int:
    """Return the status of a page, and give the connection of this thread back."""
    try:
        return browser.get(where).status_code
    finally:
        connection.close()


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop each search of a log after its first block, which is short."""
    monkeypatch.setattr(files, "MAX_SEARCH_SECONDS", -1.0)
    monkeypatch.setattr(files, "BLOCK_BYTES", 8)


@pytest.mark.django_db
@pytest.mark.parametrize("way", ["after", "before"])
def test_stopped_search_of_a_log_continues(tmp_path: Path, stopping: None, way: str) -> None:
    log = tmp_path / "log.txt"
    log.write_text("one\ntwo\nthree\nfour\nfive\n")
    hit, position, seen = None, (0 if way == "after" else log.stat().st_size), []
    search: Callable[..., int | None] = find
    for _ in range(10):
        try:
            hit = search(log, "three", **{way: position})
        except SearchStopped as stopped:
            position = stopped.position
            seen.append(position)
        else:
            break
    assert hit == 8
    assert seen == sorted(seen, reverse=way == "before")
    assert seen


def test_page_of_a_stopped_search_offers_to_search_on(ada_client: Client, run: Run, stopping: None) -> None:
    where = searches(run)["log"].replace("two", "absent")
    answer = ada_client.get(where)
    page = " ".join(answer.content.decode().split())
    assert "no line with “absent” is in the part that was searched" in page
    assert "log_find=absent&amp;log_after=8" in page
    assert "three" in page
