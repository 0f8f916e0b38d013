"""Every record is stored once, however often and by however many writers it is pushed."""

import threading
from unittest import mock

import numpy as np
import pytest
from django.db import connection, transaction

from runs.ingest import Gap, ingest
from runs.metrics import read
from runs.models import AttemptEvent, Batch, RecordFile, Response, Series
from tests.runs.attempt_records import answer, lines, make_attempt, make_run, metrics
from workers.records import BrokenLine


@pytest.fixture
def attempt(experiment):
    return make_attempt(make_run(experiment))


def values(run, key="reward/mean"):
    return [float(y) for curve in read([run], [key]) for y in curve.y]


def test_a_replay_adds_nothing(attempt):
    assert ingest(attempt, 0, metrics(5), offset=100) == 5
    assert ingest(attempt, 0, metrics(5), offset=100) == 0
    assert values(attempt.run) == [0, 1, 4, 9, 16]
    assert Series.objects.get(run=attempt.run, key="reward/mean").points == 5


def test_overlap_stores_only_new_lines(attempt):
    ingest(attempt, 0, metrics(3))
    assert ingest(attempt, 0, metrics(5)) == 2
    assert values(attempt.run) == [0, 1, 4, 9, 16]


def test_disordered_and_repeated_lines_are_stored_once_in_order(attempt):
    shuffled = [*metrics(4)[::-1], *metrics(2)]
    assert ingest(attempt, 0, shuffled) == 4
    assert [(b.first_seq, b.last_seq) for b in Batch.objects.all()] == [(0, 3)]


def test_sequences_of_epochs_and_attempts_are_independent(attempt):
    second = make_attempt(attempt.run, 2, "failed")
    assert [ingest(a, e, metrics(2)) for a in (attempt, second) for e in (0, 1)] == [2, 2, 2, 2]


def test_a_push_that_leaves_records_out_is_refused_whole(attempt):
    ingest(attempt, 0, metrics(2))
    with pytest.raises(Gap) as refused:
        ingest(attempt, 0, metrics(3, first=4))
    assert (refused.value.expected, refused.value.got) == (2, 4)
    assert values(attempt.run) == [0, 1]


def test_a_push_with_a_hole_inside_is_refused_whole(attempt):
    with pytest.raises(Gap) as refused:
        ingest(attempt, 0, [*metrics(2), *metrics(1, first=3)])
    assert (refused.value.expected, refused.value.got) == (2, 3)
    assert not Batch.objects.exists()


def test_gap_in_a_file_is_reported(attempt):
    assert ingest(attempt, 0, [*metrics(1), *metrics(1, first=3)], offset=400) == 2
    event = AttemptEvent.objects.get()
    assert (event.level, event.why) == ("warning", "records.0.jsonl lacks 2 records before byte 400: seq 3 follows 0")


def test_broken_line_is_reported_once_with_its_position(attempt):
    ingest(attempt, 0, metrics(1), offset=90, broken=[BrokenLine(57, "not JSON: …\x00"), BrokenLine(70, "another")])
    event = AttemptEvent.objects.get()
    assert event.why == "2 lines of records.0.jsonl cannot be read, at byte 57: not JSON: …\ufffd"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("dies_in", ["runs.ingest.writer._advance", "runs.ingest.metrics._summarise"])
def test_a_process_that_dies_inside_leaves_neither_rows_nor_offset(attempt, dies_in):
    with mock.patch(dies_in, side_effect=SystemExit), pytest.raises(SystemExit):
        ingest(attempt, 0, [*metrics(3), *lines([answer()], first=3)], offset=500)
    assert not RecordFile.objects.exists()
    assert not Batch.objects.exists()
    assert not Response.objects.exists()
    assert ingest(attempt, 0, [*metrics(3), *lines([answer()], first=3)], offset=500) == 4
    assert RecordFile.objects.get().offset == 500


def in_threads(*works):
    errors = []

    def run(work):
        try:
            work()
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.mark.django_db(transaction=True)
def test_concurrent_writers_of_one_file_store_each_record_once(attempt):
    everything = metrics(300)

    def bring(size):
        for start in range(0, 300, size):
            ingest(attempt, 0, everything[start : start + size], offset=start)

    in_threads(lambda: bring(7), lambda: bring(11), lambda: bring(13))
    assert values(attempt.run) == [float(s * s) for s in range(300)]
    summary = Series.objects.get(run=attempt.run, key="reward/mean")
    assert (summary.points, summary.min_value, summary.max_value) == (300, 0, 299**2)


@pytest.mark.django_db(transaction=True)
def test_concurrent_runs_with_the_same_new_prompts_do_not_deadlock(experiment):
    attempts = [make_attempt(make_run(experiment, f"es {i}")) for i in range(4)]
    names = [f"p{i}" for i in range(30)]

    def bring(number):
        order = names if number % 2 else names[::-1]
        for step in range(3):
            batch = [answer(step, prompt_id=f"{n}-{step}", prompt=f"{n}?") for n in order]
            ingest(attempts[number], 0, lines(batch, first=30 * step))

    in_threads(*(lambda i=i: bring(i) for i in range(4)))
    assert Response.objects.count() == 4 * 90
    assert Response.objects.values("prompt").distinct().count() == 90


@pytest.mark.django_db(transaction=True)
def test_batch_ids_grow_in_commit_order_within_a_run(attempt):
    """A page's cursor must never pass a batch that is committed later."""
    second = make_attempt(attempt.run, 2, "failed")
    seen = []
    with transaction.atomic():
        ingest(attempt, 0, metrics(1))
        late = threading.Thread(target=lambda: (ingest(second, 0, metrics(1)), connection.close()))
        late.start()
        late.join(0.3)
        assert late.is_alive()
        seen.append(Batch.objects.get(attempt=attempt).pk)
    late.join()
    seen.append(Batch.objects.get(attempt=second).pk)
    assert seen == sorted(seen)


def test_a_late_attempt_does_not_take_back_the_newest_value(attempt):
    second = make_attempt(attempt.run, 2, "failed")
    ingest(second, 0, metrics(3))
    ingest(attempt, 0, metrics(10))
    summary = Series.objects.get(run=attempt.run, key="reward/mean")
    assert (summary.last_step, summary.last_value, summary.points, summary.max_value) == (2, 4.0, 13, 81.0)
    assert np.isfinite(summary.min_value)
