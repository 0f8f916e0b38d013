"""Ticks are sent every few seconds, whatever the machine's date does; a missing broker does not fill the log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery

from esweb import beat
from esweb.beat import Scheduler

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
EVERY = timedelta(seconds=2)


class Recording(Scheduler):
    """Notes when it sends, instead of asking a broker."""

    producer = None

    def __init__(self, app: Celery) -> None:
        super().__init__(app, {"a": {"task": "a", "schedule": EVERY}}, max_interval=EVERY.total_seconds())
        self.update_from_dict(self.data)
        self.sent: list[datetime] = []

    def setup_schedule(self) -> None:
        """Add no entry but the one above."""

    def apply_async(self, entry: Any, *args: Any, **kwargs: Any) -> None:
        self.sent.append(self.app.now())


@pytest.mark.parametrize("jump", [timedelta(0), timedelta(hours=-3), timedelta(seconds=-90), timedelta(hours=3)])
def test_scheduler_sends_again_within_two_intervals(monkeypatch: pytest.MonkeyPatch, jump: timedelta) -> None:
    app, clock = Celery("test"), [NOON]
    monkeypatch.setattr(app, "now", lambda: clock[0])
    scheduler = Recording(app)

    def passes(time: timedelta) -> int:
        """Return how often the scheduler sends in this time."""
        before, end = len(scheduler.sent), clock[0] + time
        while clock[0] < end:
            assert scheduler.tick() <= EVERY.total_seconds()
            clock[0] += EVERY / 10
        return len(scheduler.sent) - before

    assert passes(5 * EVERY) in (4, 5)
    clock[0] += jump
    assert passes(2 * EVERY) in (1, 2, 3)


@pytest.mark.parametrize(
    ("broker", "has_traceback"), [("redis+socket:///nowhere/valkey.sock", False), ("nonsense://", True)]
)
def test_missing_broker_is_logged_in_one_line(
    caplog: pytest.LogCaptureFixture, broker: str, has_traceback: bool
) -> None:
    app = Celery("test", broker=broker)
    app.conf.task_publish_retry_policy = {"max_retries": 0}
    scheduler = Scheduler(app, {}, lazy=True)
    entry = scheduler.Entry(app=app, name="score-answers", task="score", schedule=EVERY)
    scheduler.apply_entry(entry)
    (record,) = (record for record in caplog.records if record.name == "esweb.beat")
    assert record.getMessage().startswith("Beat could not queue ")
    assert "\n" not in record.getMessage()
    assert bool(record.exc_info) == has_traceback


def test_missing_broker_is_logged_once_a_minute(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, now = Celery("test", broker="redis+socket:///nowhere/valkey.sock"), [1000.0]
    app.conf.task_publish_retry_policy = {"max_retries": 0}
    monkeypatch.setattr(beat, "time", SimpleNamespace(monotonic=lambda: now[0]))
    scheduler = Scheduler(app, {}, lazy=True)
    entry = scheduler.Entry(app=app, name="score-answers", task="score", schedule=EVERY)
    for _ in range(7):
        scheduler.apply_entry(entry)
        now[0] += 20
    messages = [record.getMessage() for record in caplog.records if record.name == "esweb.beat"]
    assert [message.partition(";")[0] for message in messages] == [
        "Beat could not queue jobs (1)",
        "Beat could not queue jobs (3)",
        "Beat could not queue jobs (3)",
    ]
