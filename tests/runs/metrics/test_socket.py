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
    with django_db_blocker.unblock(), serving() as found:
        yield found


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Send points almost as they come, and look for a lost Redis almost at once."""
    monkeypatch.setattr(consumer, "COALESCE_SECONDS", 0.01)
    monkeypatch.setattr(import_module("runs.metrics.live.hub"), "RETRY_SECONDS", 0.01)


@pytest.fixture
def attempt(experiment):
    return make_attempt(make_run(experiment))


def write(attempt, count, first=0, size=1):
    for start in range(first, first + count, size):
        ingest(attempt, 0, metrics(size, start))


def test_what_was_missed_comes_first_then_what_is_written(port, attempt, bo):
    write(attempt, 2)
    seen = cursor_of(attempt.run)
    write(attempt, 3, first=2)
    with page(port, bo) as mine:
        mine.watch(**{attempt.run.uid: seen})
        assert mine.take(3) == [2, 3, 4]
        write(attempt, 2, first=5)
        assert mine.take(5) == [2, 3, 4, 5, 6]


def test_points_carry_steps_times_and_values_with_nan_as_a_word(port, attempt, bo):
    with page(port, bo) as mine:
        mine.watch(**{attempt.run.uid: 0})
        ingest(attempt, 0, lines([Metric(7, {"reward/mean": float("nan")}, {"tokens": 12.0})]))
        message = mine.next()
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
        redis.asyncio.Redis, "from_url", lambda url, **how: connect(url, **{"socket_timeout": 0.1} | how)
    )
    monkeypatch.setattr(PubSub, "get_message", lambda self, timeout: listen(self, timeout=timeout / 50))
    with page(port, bo) as mine:
        mine.watch(**{attempt.run.uid: 0})
        with pytest.raises(TimeoutError):
            mine.next(0.5)
        write(attempt, 1)
        assert mine.take(1) == [0]
    assert "lost Redis" not in caplog.text


def test_a_page_that_comes_back_with_its_cursor_misses_nothing(port, attempt, bo):
    with page(port, bo) as mine:
        mine.watch(**{attempt.run.uid: 0})
        write(attempt, 2)
        steps, cursors = mine.take(2), mine.cursors
    write(attempt, 3, first=2)
    with page(port, bo) as again:
        again.watch(**cursors)
        assert steps + again.take(3) == [0, 1, 2, 3, 4]


def test_cut_again_and_again_while_a_run_writes_it_gets_every_point_once(port, attempt, bo):
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
        with page(port, bo) as mine:
            mine.watch(**{attempt.run.uid: cursor})
            # Some of these are written while the page is open, and the others between two pages.
            may_write.release(at_once)
            mine.take(min(random.randint(1, at_once), total - len(steps)))
            steps += mine.steps
            cursor = mine.cursors[attempt.run.uid]
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
    with page(port, bo) as mine:
        mine.watch(**{attempt.run.uid: 0})
        assert has_caught_up.wait(PATIENCE_SECONDS), "the page has not caught up"
        write(attempt, 60)
        passes.clear()
        are_written.set()
        messages = 0
        while len(mine.steps) < 60:
            mine.next()
            messages += 1
        assert mine.steps == list(range(60))
        # News that skips a batch is sent in three: what came before it, what it skipped, what came after.
        assert messages <= 3 * (len(passes) + 1) < 60


def test_points_written_while_redis_was_lost_are_read_from_the_database(port, attempt, bo):
    with page(port, bo) as mine:
        mine.watch(**{attempt.run.uid: 0})
        write(attempt, 1)
        mine.take(1)
        with mock.patch("runs.metrics.live.publish._client", side_effect=redis.ConnectionError("away")):
            write(attempt, 2, first=1)
        redis.Redis.from_url(settings.REDIS_URL).client_kill_filter(_type="pubsub")
        assert mine.take(3) == [0, 1, 2]


def test_news_that_skips_a_batch_makes_it_read_the_skipped_one(port, attempt, bo):
    with page(port, bo) as mine:
        mine.watch(**{attempt.run.uid: 0})
        write(attempt, 1)
        mine.take(1)
        with mock.patch("runs.ingest.writer.live.publish_points"):
            write(attempt, 1, first=1)
        write(attempt, 1, first=2)
        assert mine.take(3) == [0, 1, 2]


def test_a_batch_too_large_to_publish_is_read_from_the_database(port, attempt, bo):
    with page(port, bo) as mine:
        mine.watch(**{attempt.run.uid: 0})
        with mock.patch("runs.metrics.live.publish.MAX_CELLS", 10):
            write(attempt, 40, size=20)
        assert mine.take(40) == list(range(40))


def test_a_page_that_is_far_behind_is_told_to_fetch_again(port, attempt, bo):
    write(attempt, 30)
    behind = cursor_of(attempt.run)
    with mock.patch("runs.metrics.live.consumer.MAX_BACKLOG_BYTES", 100), page(port, bo) as mine:
        mine.watch(**{attempt.run.uid: 0})
        assert mine.next() == {"type": "behind", "run": attempt.run.uid, "cursor": behind}
        write(attempt, 1, first=30)
        assert mine.take(1) == [30]


def test_changes_are_told(port, attempt, bo):
    with page(port, bo) as mine:
        mine.watch(**{attempt.run.uid: 0})
        settle(mine, attempt)
        ingest(attempt, 0, lines([Status("training")]))
        assert mine.hear() == {"type": "changed", "run": attempt.run.uid, "what": "state"}


def test_once_told_that_it_watches_it_hears_of_every_change(port, attempt, bo):
    with page(port, bo) as mine:
        mine.watch(**{attempt.run.uid: 0})
        while mine.hear()["type"] != "watching":
            pass
        ingest(attempt, 0, lines([Status("training")]))
        while mine.hear() != {"type": "changed", "run": attempt.run.uid, "what": "state"}:
            pass


def test_after_redis_was_lost_everything_may_have_changed(port, attempt, bo):
    with page(port, bo) as mine:
        mine.watch(**{attempt.run.uid: 0})
        settle(mine, attempt)
        redis.Redis.from_url(settings.REDIS_URL).client_kill_filter(_type="pubsub")
        assert {mine.hear()["what"] for _ in CHANGES} == set(CHANGES)


def settle(mine, attempt):
    """Wait until the page hears of changes as they come, and has heard of all earlier ones."""
    changes = []

    def hear_of_a_change():
        changes.append(f"change {len(changes)}")
        _publish(attempt.run.uid, {"changed": changes[-1]})
        with suppress(TimeoutError):
            while (change := mine.hear(0.1).get("what")) not in changes:
                pass
            return change

    newest = wait_until(hear_of_a_change, "the page to hear of a change")
    while newest != changes[-1]:
        newest = mine.hear().get("what")


def test_a_page_may_change_what_it_watches(port, attempt, bo):
    other = make_attempt(make_run(attempt.run.experiment, "grpo 0"))
    with page(port, bo) as mine:
        mine.watch(**{attempt.run.uid: 0})
        write(attempt, 1)
        mine.take(1)
        mine.watch(**{other.run.uid: 0})
        write(other, 1)
        assert mine.next()["run"] == other.run.uid
        write(attempt, 1, first=1)
        write(other, 1, first=1)
        assert mine.next()["run"] == other.run.uid


def test_a_stranger_is_refused_in_words(port, attempt):
    with page(port, None) as mine:
        assert mine.next() == {"type": "refused", "run": None, "why": "Sign in to watch runs."}
        with pytest.raises(ConnectionClosed) as closed:
            mine.next()
    assert closed.value.rcvd.code == 4401


def test_a_run_that_a_person_may_not_see_is_refused_like_one_that_is_not_there(port, attempt, private_experiment, cy):
    secret = make_attempt(make_run(private_experiment))
    with page(port, cy) as mine:
        mine.watch(**{secret.run.uid: 0, "nothing": 0, attempt.run.uid: 0})
        refused = [mine.next(), mine.next()]
        assert {m["run"]: m["why"] for m in refused} == {
            uid: f"There is no run {uid} that you may see." for uid in (secret.run.uid, "nothing")
        }
        write(secret, 1)
        write(attempt, 1)
        assert mine.next()["run"] == attempt.run.uid


def test_who_loses_the_right_to_see_a_run_is_told_no_more_of_it(port, attempt, ada, bo):
    with mock.patch("runs.metrics.live.consumer.ASK_AGAIN_SECONDS", 0.0), page(port, bo) as mine:
        mine.watch(**{attempt.run.uid: 0})
        write(attempt, 1)
        mine.take(1)
        attempt.run.experiment.is_private = True
        attempt.run.experiment.save()
        write(attempt, 1, first=1)
        assert mine.next()["type"] == "refused"
        write(attempt, 1, first=2)
        other = make_attempt(make_run(Experiment.objects.create(name="Open", owner=ada)))
        mine.watch(**{attempt.run.uid: 0, other.run.uid: 0})
        assert mine.next()["type"] == "refused"
        write(other, 1)
        assert mine.next()["run"] == other.run.uid


def test_who_loses_the_right_while_the_page_catches_up_is_told_no_more(port, attempt, bo, monkeypatch):
    since = consumer._since

    @database_sync_to_async
    def hide_and_write() -> None:
        Experiment.objects.filter(pk=attempt.run.experiment_id).update(is_private=True)
        write(attempt, 1, first=1)

    async def since_and_hide(run_id, cursor):
        if cursor:
            await hide_and_write()
        return await since(run_id, cursor)

    monkeypatch.setattr(consumer, "ASK_AGAIN_SECONDS", 0.0)
    monkeypatch.setattr(consumer, "_since", since_and_hide)
    write(attempt, 1)
    with page(port, bo) as mine:
        mine.watch(**{attempt.run.uid: 0})
        mine.take(1)
        assert mine.next()["type"] == "refused"


@pytest.mark.parametrize(
    "said",
    [
        "",
        b"\x00\xff",
        "nonsense",
        "[" * 200_000,
        "[]",
        '{"watch": []}',
        '{"watch": {"a": -1}}',
        '{"watch": {"a": "1"}}',
        '{"watch": {"a": true}}',
    ],
)
def test_what_it_does_not_understand_it_says_and_goes_on(port, attempt, bo, said):
    with page(port, bo) as mine:
        mine.socket.send(said)
        assert "at most 100 runs" in mine.next()["why"]
        mine.watch(**{attempt.run.uid: 0})
        write(attempt, 1)
        assert mine.take(1) == [0]


def test_too_many_runs_are_refused_in_words(port, bo):
    with page(port, bo) as mine:
        mine.socket.send(json.dumps({"watch": {f"run{i}": 0 for i in range(101)}}))
        assert mine.next()["type"] == "error"


def test_what_is_pushed_over_http_comes_too(port, attempt, ada, bo):
    token = access.issue(ada, "ingest", run=attempt.run)[1]
    address = f"http://127.0.0.1:{port}/api/v1/attempts/{attempt.key}/records"
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/jsonl"}
    with page(port, bo) as mine, httpx.Client(headers=headers) as client:
        mine.watch(**{attempt.run.uid: 0})
        for first in range(0, 8, 2):
            body = b"".join(pack(line.seq, line.t, line.record) for line in metrics(2, first))
            assert client.post(address, content=body).json() == {"kept": 2, "next_seq": first + 2}
        assert mine.take(8) == list(range(8))
