"""An open page gets every point once, in order: what it missed, then what comes, through lost connections."""

import asyncio
import json
import random
import threading
from contextlib import suppress
from importlib import import_module
from unittest import mock

import httpx
import pytest
import redis
from channels.db import database_sync_to_async
from django.conf import settings
from django.db import connection
from redis.asyncio.client import PubSub
from websockets.exceptions import ConnectionClosed

from runs import access
from runs.ingest import ingest
from runs.metrics import cursor as cursor_of
from runs.metrics.live import consumer
from runs.metrics.live.publish import CHANGES, _publish
from runs.models import Experiment
from tests.runs.attempt_records import lines, make_attempt, make_run, metrics
from tests.runs.live_server import page, serving
from tests.waiting import PATIENCE_SECONDS, wait_until
from workers.records import Metric, Status, pack

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def port(django_db_setup, django_db_blocker):
    with django_db_blocker.unblock(), serving() as server_port:
        yield server_port


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Send points almost immediately, and reconnect to a lost Redis almost immediately."""
    monkeypatch.setattr(consumer, "COALESCE_SECONDS", 0.01)
    monkeypatch.setattr(import_module("runs.metrics.live.hub"), "RETRY_SECONDS", 0.01)


@pytest.fixture
def attempt(experiment):
    return make_attempt(make_run(experiment))


def write(attempt, count, first=0, size=1):
    for start in range(first, first + count, size):
        ingest(attempt, 0, metrics(size, start))


def test_missed_points_come_before_new_ones(port, attempt, bo):
    write(attempt, 2)
    seen = cursor_of(attempt.run)
    write(attempt, 3, first=2)
    with page(port, bo) as client:
        client.watch(**{attempt.run.uid: seen})
        assert client.take(3) == [2, 3, 4]
        write(attempt, 2, first=5)
        assert client.take(5) == [2, 3, 4, 5, 6]


def test_points_carry_steps_times_and_values_with_nan_as_a_word(port, attempt, bo):
    with page(port, bo) as client:
        client.watch(**{attempt.run.uid: 0})
        ingest(attempt, 0, lines([Metric(7, {"reward/mean": float("nan")}, {"tokens": 12.0})]))
        message = client.next()
    assert message == {
        "type": "points",
        "run": attempt.run.uid,
        "cursor": cursor_of(attempt.run),
        "points": {
            "reward/mean": {"step": [7], "t": [1_700_000_000.0], "value": ["NaN"]},
            "axes/tokens": {"step": [7], "t": [1_700_000_000.0], "value": [12.0]},
        },
    }


def test_a_socket_that_was_quiet_for_long_still_gets_points(port, attempt, bo, caplog, monkeypatch):
    """redis-py's default timeout, which is 5 s and shorter here, would end a quiet subscription."""
    connect, listen = redis.asyncio.Redis.from_url, PubSub.get_message
    monkeypatch.setattr(
        redis.asyncio.Redis, "from_url", lambda url, **options: connect(url, **{"socket_timeout": 0.1} | options)
    )
    monkeypatch.setattr(PubSub, "get_message", lambda self, timeout: listen(self, timeout=timeout / 50))
    with page(port, bo) as client:
        client.watch(**{attempt.run.uid: 0})
        with pytest.raises(TimeoutError):
            client.next(0.5)
        write(attempt, 1)
        assert client.take(1) == [0]
    assert "lost its Redis" not in caplog.text


def test_a_page_that_comes_back_with_its_cursor_misses_nothing(port, attempt, bo):
    with page(port, bo) as client:
        client.watch(**{attempt.run.uid: 0})
        write(attempt, 2)
        steps, cursors = client.take(2), client.cursors
    write(attempt, 3, first=2)
    with page(port, bo) as again:
        again.watch(**cursors)
        assert steps + again.take(3) == [0, 1, 2, 3, 4]


def test_reconnecting_page_gets_every_point_once(port, attempt, bo):
    total, at_once = 40, 10
    may_write = threading.Semaphore(0)

    def write_as_pages_open():
        for step in range(total):
            may_write.acquire()
            write(attempt, 1, first=step)
        connection.close()

    writer = threading.Thread(target=write_as_pages_open)
    writer.start()
    steps, cursor = [], 0
    while len(steps) < total:
        with page(port, bo) as client:
            client.watch(**{attempt.run.uid: cursor})
            # Some of these are written while the page is open, and the others between two pages.
            may_write.release(at_once)
            client.take(min(random.randint(1, at_once), total - len(steps)))
            steps += client.steps
            cursor = client.cursors[attempt.run.uid]
    writer.join()
    assert steps == list(range(total))


def test_many_flushes_are_sent_as_few_messages(port, attempt, bo, monkeypatch):
    monkeypatch.setattr(consumer, "COALESCE_SECONDS", 0.25)
    has_caught_up, are_written, passes = threading.Event(), threading.Event(), []
    sleep = asyncio.sleep  # noqa: TID251  (the server's own, which this test hears of)

    async def pause(seconds, *result):
        if seconds != consumer.COALESCE_SECONDS:
            return await sleep(seconds, *result)
        passes.append(seconds)
        has_caught_up.set()
        while not are_written.is_set():
            await sleep(0.01)
        return await sleep(seconds, *result)

    # Until its first pause a page reads what it missed, in as many messages as that takes.
    monkeypatch.setattr(asyncio, "sleep", pause)
    with page(port, bo) as client:
        client.watch(**{attempt.run.uid: 0})
        assert has_caught_up.wait(PATIENCE_SECONDS), "the page has not caught up"
        write(attempt, 60)
        passes.clear()
        are_written.set()
        messages = 0
        while len(client.steps) < 60:
            client.next()
            messages += 1
        assert client.steps == list(range(60))
        # News that skips a batch is sent in three: what came before it, what it skipped, what came after.
        assert messages <= 3 * (len(passes) + 1) < 60


def test_points_written_while_redis_was_lost_are_read_from_the_database(port, attempt, bo):
    with page(port, bo) as client:
        client.watch(**{attempt.run.uid: 0})
        write(attempt, 1)
        client.take(1)
        with mock.patch("runs.metrics.live.publish._client", side_effect=redis.ConnectionError("away")):
            write(attempt, 2, first=1)
        redis.Redis.from_url(settings.REDIS_URL).client_kill_filter(_type="pubsub")
        assert client.take(3) == [0, 1, 2]


def test_news_that_skips_a_batch_makes_it_read_the_skipped_one(port, attempt, bo):
    with page(port, bo) as client:
        client.watch(**{attempt.run.uid: 0})
        write(attempt, 1)
        client.take(1)
        with mock.patch("runs.ingest.writer.live.publish_points"):
            write(attempt, 1, first=1)
        write(attempt, 1, first=2)
        assert client.take(3) == [0, 1, 2]


def test_a_batch_too_large_to_publish_is_read_from_the_database(port, attempt, bo):
    with page(port, bo) as client:
        client.watch(**{attempt.run.uid: 0})
        with mock.patch("runs.metrics.live.publish.MAX_CELLS", 10):
            write(attempt, 40, size=20)
        assert client.take(40) == list(range(40))


def test_socket_requests_reload_of_outdated_page(port, attempt, bo):
    write(attempt, 30)
    behind = cursor_of(attempt.run)
    with mock.patch("runs.metrics.live.consumer.MAX_BACKLOG_BYTES", 100), page(port, bo) as client:
        client.watch(**{attempt.run.uid: 0})
        assert client.next() == {"type": "behind", "run": attempt.run.uid, "cursor": behind}
        write(attempt, 1, first=30)
        assert client.take(1) == [30]


def test_changes_are_published(port, attempt, bo):
    with page(port, bo) as client:
        client.watch(**{attempt.run.uid: 0})
        settle(client, attempt)
        ingest(attempt, 0, lines([Status("training")]))
        assert client.hear() == {"type": "changed", "run": attempt.run.uid, "what": "state"}


def test_watching_page_receives_every_change(port, attempt, bo):
    with page(port, bo) as client:
        client.watch(**{attempt.run.uid: 0})
        while client.hear()["type"] != "watching":
            pass
        ingest(attempt, 0, lines([Status("training")]))
        while client.hear() != {"type": "changed", "run": attempt.run.uid, "what": "state"}:
            pass


def test_after_redis_was_lost_everything_may_have_changed(port, attempt, bo):
    with page(port, bo) as client:
        client.watch(**{attempt.run.uid: 0})
        settle(client, attempt)
        redis.Redis.from_url(settings.REDIS_URL).client_kill_filter(_type="pubsub")
        assert {client.hear()["what"] for _ in CHANGES} == set(CHANGES)


def settle(client, attempt):
    """Wait until the page hears of changes as they come, and has heard of all earlier ones."""
    changes = []

    def hear_of_a_change():
        changes.append(f"change {len(changes)}")
        _publish(attempt.run.uid, {"changed": changes[-1]})
        with suppress(TimeoutError):
            while (change := client.hear(0.1).get("what")) not in changes:
                pass
            return change

    newest = wait_until(hear_of_a_change, "the page to hear of a change")
    while newest != changes[-1]:
        newest = client.hear().get("what")


def test_a_page_may_change_what_it_watches(port, attempt, bo):
    other = make_attempt(make_run(attempt.run.experiment, "grpo 0"))
    with page(port, bo) as client:
        client.watch(**{attempt.run.uid: 0})
        write(attempt, 1)
        client.take(1)
        client.watch(**{other.run.uid: 0})
        write(other, 1)
        assert client.next()["run"] == other.run.uid
        write(attempt, 1, first=1)
        write(other, 1, first=1)
        assert client.next()["run"] == other.run.uid


def test_a_stranger_is_refused_in_words(port, attempt):
    with page(port, None) as client:
        assert client.next() == {"type": "refused", "run": None, "why": "Sign in to watch runs."}
        with pytest.raises(ConnectionClosed) as closed:
            client.next()
    assert closed.value.rcvd.code == 4401


def test_hidden_run_is_refused_like_a_missing_one(port, attempt, private_experiment, cy):
    secret = make_attempt(make_run(private_experiment))
    with page(port, cy) as client:
        client.watch(**{secret.run.uid: 0, "nothing": 0, attempt.run.uid: 0})
        refused = [client.next(), client.next()]
        assert {m["run"]: m["why"] for m in refused} == {
            uid: f"There is no run {uid} that you may see." for uid in (secret.run.uid, "nothing")
        }
        write(secret, 1)
        write(attempt, 1)
        assert client.next()["run"] == attempt.run.uid


def test_page_gets_no_messages_after_losing_access(port, attempt, ada, bo):
    with mock.patch("runs.metrics.live.consumer.RIGHTS_CHECK_SECONDS", 0.0), page(port, bo) as client:
        client.watch(**{attempt.run.uid: 0})
        write(attempt, 1)
        client.take(1)
        attempt.run.experiment.is_private = True
        attempt.run.experiment.save()
        write(attempt, 1, first=1)
        assert client.next()["type"] == "refused"
        write(attempt, 1, first=2)
        other = make_attempt(make_run(Experiment.objects.create(name="Open", owner=ada)))
        client.watch(**{attempt.run.uid: 0, other.run.uid: 0})
        assert client.next()["type"] == "refused"
        write(other, 1)
        assert client.next()["run"] == other.run.uid


def test_catching_up_page_gets_no_messages_after_losing_access(port, attempt, bo, monkeypatch):
    since = consumer._since

    @database_sync_to_async
    def hide_and_write() -> None:
        Experiment.objects.filter(pk=attempt.run.experiment_id).update(is_private=True)
        write(attempt, 1, first=1)

    async def since_and_hide(run_id, cursor):
        if cursor:
            await hide_and_write()
        return await since(run_id, cursor)

    monkeypatch.setattr(consumer, "RIGHTS_CHECK_SECONDS", 0.0)
    monkeypatch.setattr(consumer, "_since", since_and_hide)
    write(attempt, 1)
    with page(port, bo) as client:
        client.watch(**{attempt.run.uid: 0})
        client.take(1)
        assert client.next()["type"] == "refused"


@pytest.mark.parametrize(
    "sent",
    [
        "",
        b"\x00\xff",
        "nonsense",
        "[" * 60_000,
        "[]",
        '{"watch": []}',
        '{"watch": {"a": -1}}',
        '{"watch": {"a": "1"}}',
        '{"watch": {"a": true}}',
    ],
)
def test_invalid_message_is_reported_and_the_socket_stays_open(port, attempt, bo, sent):
    with page(port, bo) as client:
        client.socket.send(sent)
        assert "at most 100 runs" in client.next()["why"]
        client.watch(**{attempt.run.uid: 0})
        write(attempt, 1)
        assert client.take(1) == [0]


def test_too_many_runs_are_refused_in_words(port, bo):
    with page(port, bo) as client:
        client.socket.send(json.dumps({"watch": {f"run{i}": 0 for i in range(101)}}))
        assert client.next()["type"] == "error"


def test_points_pushed_over_http_are_published(port, attempt, ada, bo):
    token = access.issue(ada, "ingest", run=attempt.run)[1]
    address = f"http://127.0.0.1:{port}/api/v1/attempts/{attempt.key}/records"
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/jsonl"}
    with page(port, bo) as socket, httpx.Client(headers=headers) as client:
        socket.watch(**{attempt.run.uid: 0})
        for first in range(0, 8, 2):
            body = b"".join(pack(line.seq, line.t, line.record) for line in metrics(2, first))
            assert client.post(address, content=body).json() == {"kept": 2, "next_seq": first + 2}
        assert socket.take(8) == list(range(8))
