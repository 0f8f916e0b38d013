"""The follower reads records of local runs into the database, and resumes where it was after any interruption."""

import logging
import os
import subprocess
import sys
import threading
from datetime import timedelta
from unittest import mock

import pytest
import redis
from django.conf import settings
from django.core.management import call_command
from django.db import OperationalError, connection, connections
from django.utils import timezone

from runs import metrics
from runs.ingest import Follower
from runs.management.commands.follow import follow
from runs.metrics.live.publish import CHANNEL
from runs.models import Attempt, AttemptEvent, Batch, RecordFile
from tests.runs.attempt_records import make_attempt, make_run
from tests.waiting import PATIENCE_SECONDS, wait_until
from workers.records import Metric, RecordWriter


@pytest.fixture
def attempt(experiment, runs_dir):
    attempt = make_attempt(make_run(experiment))
    attempt.directory.mkdir(parents=True)
    return attempt


@pytest.fixture
def published():
    """Collect the changes that are published to open pages, as (run, what)."""
    with mock.patch("runs.metrics.live.publish_changed") as publish:
        yield publish


@pytest.fixture(autouse=True)
def tick():
    with mock.patch("runs.ingest.follower.send") as enqueue:
        yield enqueue


def write(attempt, *values, epoch=0):
    with RecordWriter(attempt.directory, epoch) as records:
        for step, value in enumerate(values):
            records.write(Metric(step, {"a": float(value)}))


def append(attempt, data, epoch=0):
    with (attempt.directory / f"records.{epoch}.jsonl").open("ab") as file:
        file.write(data)


def metric_line(seq, value):
    return b'{"seq":%d,"t":1,"kind":"metric","step":%d,"values":{"a":%d}}\n' % (seq, seq, value)


def end(attempt, state="succeeded", seconds_ago=60):
    attempt.state = state
    attempt.ended_at = timezone.now() - timedelta(seconds=seconds_ago)
    attempt.save()
    if state != "lost" and attempt.directory.exists():
        (attempt.directory / "exit.json").write_text("{}")


def values(attempt):
    return [y for curve in metrics.read([attempt.run], ["a"]) for y in curve.y]


def test_follower_reads_every_epoch_to_its_end(attempt):
    write(attempt, 1, 2)
    write(attempt, 3, epoch=1)
    call_command("follow", "--once")
    assert values(attempt) == [1, 2, 3]
    offsets = dict(RecordFile.objects.values_list("epoch", "offset"))
    assert offsets == {e: (attempt.directory / f"records.{e}.jsonl").stat().st_size for e in (0, 1)}


def test_a_torn_last_line_is_read_when_it_is_whole(attempt):
    write(attempt, 1)
    line = b'{"seq":1,"t":1,"kind":"metric","step":1,"values":{"a":2}}\n'
    follower = Follower()
    append(attempt, line[:20])
    follower.look()
    assert values(attempt) == [1]
    append(attempt, line[20:])
    assert follower.look() == 1
    assert values(attempt) == [1, 2]


def test_next_follower_resumes_where_the_last_one_was(attempt):
    write(attempt, 1, 2)
    assert Follower().look() == 2
    assert Follower().look() == 0
    assert values(attempt) == [1, 2]


def lose_what_came_after(attempt, offset, next_seq):
    """Do to the rows what a crash of PostgreSQL does where commits were not flushed: rows and offset are older."""
    Batch.objects.filter(attempt=attempt, first_seq__gte=next_seq).delete()
    RecordFile.objects.filter(attempt=attempt).update(offset=offset, next_seq=next_seq)


def meet_error_of_the_database(follower):
    with (
        mock.patch("runs.ingest.follower._followed_attempts", side_effect=OperationalError("gone")),
        pytest.raises(OperationalError),
    ):
        follower.look()


def test_follower_reads_again_what_the_database_lost_when_the_file_grows(attempt, caplog):
    follower = Follower()
    write(attempt, 1)
    follower.look()
    (offset,) = RecordFile.objects.values_list("offset", flat=True)
    append(attempt, metric_line(seq=1, value=2))
    follower.look()
    lose_what_came_after(attempt, offset, next_seq=1)
    append(attempt, metric_line(seq=2, value=3))
    follower.look()
    follower.look()
    assert values(attempt) == [1, 2, 3]
    assert f"is read to byte {offset}, not " in caplog.text
    assert not AttemptEvent.objects.exists()


def test_follower_reads_again_what_the_database_lost_before_it_drains(attempt):
    follower = Follower()
    write(attempt, 1, 2)
    follower.look()
    lose_what_came_after(attempt, 0, next_seq=0)
    end(attempt)
    follower.look()
    assert Attempt.objects.undrained().exists()
    follower.look()
    assert values(attempt) == [1, 2]
    assert not Attempt.objects.undrained().exists()


def test_follower_trusts_no_offset_from_before_an_error_of_the_database(attempt):
    follower = Follower()
    write(attempt, 1, 2)
    follower.look()
    meet_error_of_the_database(follower)
    lose_what_came_after(attempt, 0, next_seq=0)
    assert follower.look() == 2
    assert values(attempt) == [1, 2]


def test_batch_ids_are_not_given_again_after_an_error_of_the_database(attempt):
    follower = Follower()
    write(attempt, 1)
    follower.look()
    seen = Batch.objects.get().pk
    meet_error_of_the_database(follower)
    lose_what_came_after(attempt, 0, next_seq=0)
    with connection.cursor() as sql:
        sql.execute("SELECT setval(pg_get_serial_sequence('runs_batch', 'id'), %s, false)", [seen])
    follower.look()
    assert Batch.objects.get().pk > seen


def test_broken_line_is_reported_and_later_lines_are_read(attempt):
    write(attempt, 1)
    append(attempt, b"garbage\n" + b'{"seq":2,"t":1,"kind":"metric","step":1,"values":{"a":2}}\n')
    Follower().look()
    assert values(attempt) == [1, 2]
    assert "garbage" not in (reasons := " ".join(AttemptEvent.objects.values_list("why", flat=True)))
    assert "A line of records.0.jsonl cannot be read, at byte" in reasons


def test_an_attempt_that_has_ended_is_drained_once_its_files_are_read(attempt):
    write(attempt, 1)
    Follower().look()
    attempt.refresh_from_db()
    assert attempt.drained_at is None
    end(attempt)
    Follower().look()
    attempt.refresh_from_db()
    assert attempt.drained_at is not None
    with mock.patch("runs.ingest.follower.read") as read:
        Follower().look()
    read.assert_not_called()


def test_attempt_is_not_drained_while_records_remain(attempt):
    write(attempt, *range(50))
    end(attempt)
    follower = Follower()
    small = mock.patch("runs.ingest.follower.read", lambda path, offset: read_little(path, offset))
    with small:
        while Attempt.objects.undrained().exists():
            assert follower.look()
    assert len(values(attempt)) == 50


def read_little(path, offset):
    from workers.records import read

    return read(path, offset, limit=200)


def test_a_writer_that_may_be_left_over_is_waited_for(attempt):
    write(attempt, 1)
    end(attempt, "lost", seconds_ago=1)
    Follower().look()
    assert Attempt.objects.undrained().exists()
    (attempt.directory / "exit.json").write_text("{}")
    Follower().look()
    assert not Attempt.objects.undrained().exists()


@pytest.mark.parametrize("hours_ago", [-3, 3])
def test_clock_change_does_not_affect_the_drain_wait(attempt, monkeypatch, hours_ago):
    write(attempt, 1)
    end(attempt, "lost", seconds_ago=hours_ago * 3600)
    follower = Follower()
    follower.look()
    assert Attempt.objects.undrained().exists()
    monkeypatch.setattr("runs.ingest.follower.LINGER_SECONDS", 0.0)
    follower.look()
    assert not Attempt.objects.undrained().exists()


def test_record_cut_off_by_a_kill_is_reported_at_the_end(attempt):
    write(attempt, 1)
    append(attempt, b'{"seq":1,')
    end(attempt, "failed")
    Follower().look()
    assert [e.why for e in AttemptEvent.objects.order_by("pk")] == [
        "The last line of records.0.jsonl was cut off after 9 bytes: one record is lost"
    ]


def test_an_attempt_that_never_wrote_is_drained(attempt):
    attempt.directory.rmdir()
    end(attempt, "cancelled")
    Follower().look()
    assert not Attempt.objects.undrained().exists()


def test_files_that_cannot_be_followed_do_not_keep_it_from_others(attempt, caplog):
    broken = make_attempt(make_run(attempt.run.experiment, "es 1"))
    broken.directory.mkdir(parents=True)
    (broken.directory / "records.0.jsonl").mkdir()
    write(attempt, 1)
    Follower().look()
    assert values(attempt) == [1]
    assert f"Follower cannot read the files of {broken.key}" in caplog.text


def test_log_growth_is_published_at_most_once_a_second(attempt, published):
    log = attempt.directory / "log.txt"
    follower = Follower()
    # Three looks within that time, however busy the machine is.
    with mock.patch("runs.ingest.follower.LOG_NOTICE_SECONDS", PATIENCE_SECONDS):
        for text in ("a", "ab", "abc"):
            log.write_text(text)
            follower.look()
    assert published.call_args_list == [mock.call(attempt.run.uid, "log")]
    with mock.patch("runs.ingest.follower.LOG_NOTICE_SECONDS", 0.0):
        follower.look()
        follower.look()
    assert published.call_count == 2


def test_an_exit_record_asks_for_one_tick_at_once(attempt, tick):
    follower = Follower()
    follower.look()
    tick.assert_not_called()
    (attempt.directory / "exit.json").write_text("{}")
    follower.look()
    follower.look()
    tick.assert_called_once_with("tick_cluster", attempt.cluster_id, retry=False)


def test_follower_waits_for_the_database_and_logs_it_once(attempt, caplog):
    stop = threading.Event()
    answers = iter([OperationalError("gone"), OperationalError("gone"), 0])

    def look():
        answer = next(answers, None)
        if answer is None:
            stop.set()
        if isinstance(answer, Exception):
            raise answer

    with (
        mock.patch.object(Follower, "look", side_effect=look),
        mock.patch("runs.management.commands.follow.RETRY_SECONDS", 0.01),
        mock.patch("runs.management.commands.follow.LOOK_SECONDS", 0.001),
        mock.patch("runs.management.commands.follow.IDLE_LOOK_SECONDS", 0.001),
        mock.patch.object(connections, "close_all") as close,
        caplog.at_level(logging.WARNING),
    ):
        follow(Follower(), stop)
    assert [" ".join(r.getMessage().split()[:3]) for r in caplog.records] == [
        "Follower lost PostgreSQL;", "Follower reached PostgreSQL",
    ]  # fmt: skip
    assert close.call_count == 3


FOLLOW = [sys.executable, str(settings.BASE_DIR / "manage.py"), "follow"]


def environment(data):
    """Return the environment of a process that uses this test's database and folders."""
    at = connection.settings_dict
    url = f"postgresql://{at['USER']}@/{at['NAME']}?host={at['HOST']}"
    return {**os.environ, "DATABASE_URL": url, "REDIS_URL": settings.REDIS_URL, "ESWEB_DATA": str(data)}


def serving_pids():
    """Return the PostgreSQL processes that serve this database."""
    with connection.cursor() as sql:
        sql.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
        return {pid for (pid,) in sql.fetchall()}


@pytest.mark.django_db(transaction=True)
def test_the_process_survives_a_cut_connection_publishes_and_ends_on_sigterm(attempt, tmp_path):
    subscription = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=PATIENCE_SECONDS).pubsub()
    subscription.subscribe(CHANNEL + attempt.run.uid)
    ours = serving_pids()
    with RecordWriter(attempt.directory, 0) as records:
        records.write(Metric(0, {"a": 1.0}))
        process = subprocess.Popen(FOLLOW, env=environment(tmp_path), stderr=subprocess.PIPE)
        try:
            wait_until(lambda: values(attempt) == [1], "the first record to be in the database")
            with connection.cursor() as sql:
                sql.execute("SELECT pg_terminate_backend(pid) FROM unnest(%s) AS pid", [list(serving_pids() - ours)])
            records.write(Metric(1, {"a": 2.0}))
            wait_until(lambda: values(attempt) == [1, 2], "the second record to be in the database")
            assert process.poll() is None
        finally:
            process.terminate()
            _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, errors.decode()
    assert b"Follower reached PostgreSQL again" in errors
    for _ in range(2):
        wait_until(lambda: subscription.get_message(ignore_subscribe_messages=True), "news of the run in Redis")


def test_seq_beyond_64_bits_is_a_broken_line_and_the_next_one_counts(attempt):
    """The seq after the last one is stored too, so 2^63 - 1 is beyond as well."""
    write(attempt, 1)
    append(attempt, metric_line(2**63 - 1, 7) + metric_line(2**64, 8) + metric_line(1, 2))
    Follower().look()
    assert values(attempt) == [1, 2]
    assert AttemptEvent.objects.get(level="warning").why.count("seq must be") >= 1
