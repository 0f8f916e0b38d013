"""Publishing never blocks ingest; message boxes are bounded and report what they dropped."""

import asyncio
import logging

import pytest

from runs.ingest import ingest
from runs.metrics import keys, live
from runs.metrics.live import Box, News
from runs.metrics.live.hub import BOX_SIZE
from tests.runs.attempt_records import make_attempt, make_run, metrics


@pytest.mark.django_db(transaction=True)
def test_records_are_stored_and_logged_while_redis_is_down(experiment, settings, caplog):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    attempt = make_attempt(make_run(experiment))
    with caplog.at_level(logging.WARNING):
        assert ingest(attempt, 0, metrics(3)) == 3
    assert "Could not publish news" in caplog.text
    assert keys(attempt.run) == ["reward/mean"]


def test_only_what_pages_know_can_change():
    with pytest.raises(ValueError, match="one of state, responses, population, engines, log, checkpoints"):
        live.publish_changed("run", "weather")


def test_full_box_drops_the_oldest_and_reports_their_runs():
    async def fill():
        box = Box()
        box.runs = {"old", "new"}
        box.put(News("old", cursor=1))
        for cursor in range(BOX_SIZE):
            box.put(News("new", cursor=cursor))
        return await box.take()

    mail = asyncio.run(fill())
    assert len(mail.news) == BOX_SIZE
    assert {news.run for news in mail.news} == {"new"}
    assert mail.lost == {"old"}


def test_repeated_change_is_delivered_once():
    async def change():
        box = Box()
        box.runs = {"a"}
        waiting = asyncio.ensure_future(box.take())
        done, _ = await asyncio.wait({waiting}, timeout=0)
        assert not done
        for _ in range(3):
            box.put(News("a", changed="log"))
        return await waiting

    assert asyncio.run(change()).changed == [("a", "log")]
