"""Publishing never stands in the way of ingest; boxes are bounded and say what they dropped."""

import asyncio
import logging

import pytest

from runs.ingest import ingest
from runs.metrics import keys, live
from runs.metrics.live import Box, News
from runs.metrics.live.hub import BOX_SIZE
from tests.runs.attempt_records import make_attempt, make_run, metrics


@pytest.mark.django_db(transaction=True)
def test_records_are_kept_while_redis_is_away_and_the_log_says_so(experiment, settings, caplog):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    attempt = make_attempt(make_run(experiment))
    with caplog.at_level(logging.WARNING):
        assert ingest(attempt, 0, metrics(3)) == 3
    assert "were not told" in caplog.text
    assert keys(attempt.run) == ["reward/mean"]


def test_only_what_pages_know_can_change():
    with pytest.raises(ValueError, match="one of state, responses, population, engines, log, checkpoints"):
        live.publish_changed("run", "weather")


def test_a_full_box_drops_the_oldest_and_says_of_which_run():
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


def test_the_same_change_is_told_once_and_a_box_waits_for_something():
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
