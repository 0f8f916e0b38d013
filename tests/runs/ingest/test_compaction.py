"""Batches become chunks: no point changes, is lost or is duplicated, under concurrent writes and kills."""

from unittest.mock import patch

import numpy as np
import pytest

from runs import ingest, models
from runs.ingest import compaction, tasks
from runs.metrics import POINTS, X_AXES, compacted, newest_batches, read, segments
from runs.metrics import cursor as cursor_of
from runs.models import Batch, Chunk, RecordFile, Run
from tests.runs.attempt_records import lines, make_attempt, make_run, metrics
from workers.records import Metric


@pytest.fixture
def attempt(experiment):
    return make_attempt(make_run(experiment))


def curves(*runs, keys=("reward/mean", "b", "axes/tokens")):
    """Return the runs' curves along every axis as plain lists."""
    all_curves = [curve for x in X_AXES for curve in read(runs, keys, x=x)]
    return [(c.run_id, c.key, c.x.tolist(), c.y.tolist(), c.overwritten.tolist(), c.cursor) for c in all_curves]


def flush(attempt, first, count, epoch=0):
    """Write two keys, one of them measured at every third step, with a counter."""
    records = [
        Metric(s, {"reward/mean": s / 7, **({"b": -1.0 * s} if s % 3 == 0 else {})}, {"tokens": 5.0 * s})
        for s in range(first, first + count)
    ]
    ingest.ingest(attempt, epoch, lines(records, first), offset=1)


def test_nothing_that_is_read_changes(attempt):
    for first in range(0, 60, 10):
        flush(attempt, first, 10)
    flush(make_attempt(attempt.run, 2, "failed"), 0, 7)
    before, cursor = curves(attempt.run), cursor_of(attempt.run)
    assert ingest.compact(attempt.run_id) == 7
    assert not Batch.objects.exists()
    assert curves(attempt.run) == before
    assert cursor_of(attempt.run) == cursor
    assert ingest.compact(attempt.run_id) == 0


def test_later_batches_extend_the_last_chunk(attempt):
    for first in range(0, 3 * POINTS, POINTS // 2):
        ingest.ingest(attempt, 0, metrics(POINTS // 2, first), offset=1)
        ingest.compact(attempt.run_id)
    of_key = Chunk.objects.filter(key="reward/mean").order_by("first_seq")
    assert list(of_key.values_list("first_seq", "points")) == [(n * POINTS, POINTS) for n in range(3)]
    (curve,) = read([attempt.run], ["reward/mean"])
    assert np.array_equal(curve.y, np.arange(3.0 * POINTS) ** 2)


def test_number_of_chunks_in_a_row_does_not_matter(attempt, monkeypatch):
    resumed = make_attempt(attempt.run, 2, "failed")
    for current in (attempt, resumed):
        ingest.ingest(current, 0, metrics(3 * POINTS + 5), offset=1)
        while ingest.compact(current.run_id):
            pass
    ingest.ingest(resumed, 0, metrics(50, 3 * POINTS + 5), offset=2)
    usual = curves(attempt.run)
    for together in (1, 2 * POINTS):
        monkeypatch.setattr(segments, "RECORDS_PER_ROW", together)
        assert curves(attempt.run) == usual
    assert {len(x) for _, key, x, *_ in usual if key == "reward/mean"} == {6 * POINTS + 60}


def test_a_chunk_knows_its_ends_and_extremes_without_being_opened(attempt):
    records = [Metric(step, {"a": value}) for step, value in ((3, 2.0), (4, float("nan")), (9, -1.0), (10, 5.0))]
    ingest.ingest(attempt, 0, lines(records))
    ingest.compact(attempt.run_id)
    chunk = Chunk.objects.get(key="a")
    assert (chunk.points, chunk.first_step, chunk.last_step) == (4, 3, 10)
    assert (chunk.min_value, chunk.max_value, chunk.last_value) == (-1, 5, 5)


def test_points_that_are_all_nan_have_no_extremes(attempt):
    ingest.ingest(attempt, 0, lines([Metric(0, {"a": float("nan")})]))
    ingest.compact(attempt.run_id)
    chunk = Chunk.objects.get(key="a")
    assert (chunk.min_value, chunk.max_value) == (None, None)


def test_points_in_chunks_and_in_batches_are_one_curve(attempt):
    flush(attempt, 0, 20)
    ingest.compact(attempt.run_id)
    flush(attempt, 20, 20)
    whole = curves(attempt.run)
    ingest.compact(attempt.run_id)
    assert curves(attempt.run) == whole
    assert [len(x) for _, key, x, *_ in whole if key == "reward/mean"] == [40] * 4


def test_cursor_in_chunks_is_reported_as_behind(attempt):
    flush(attempt, 0, 5)
    cursor = cursor_of(attempt.run)
    assert compacted(attempt.run_id) == 0
    ingest.compact(attempt.run_id)
    assert compacted(attempt.run_id) == cursor
    assert newest_batches([attempt.run_id]) == {attempt.run_id: cursor}


def test_interrupted_compaction_changes_nothing(attempt):
    flush(attempt, 0, 30)
    before = curves(attempt.run)
    with patch.object(models.Chunk.objects, "bulk_create", side_effect=OSError), pytest.raises(OSError):
        ingest.compact(attempt.run_id)
    assert (Batch.objects.count(), Chunk.objects.count()) == (1, 0)
    assert curves(attempt.run) == before
    assert RecordFile.objects.get().next_seq == 30


def test_active_runs_are_compacted_only_when_large(attempt, monkeypatch):
    flush(attempt, 0, 5)
    assert ingest.loose_runs() == []
    monkeypatch.setattr(compaction, "MAX_LOOSE_BATCHES", 1)
    flush(attempt, 5, 5)
    assert ingest.loose_runs() == [attempt.run_id]


def test_the_job_compacts_runs_that_have_ended(attempt):
    flush(attempt, 0, 5)
    tasks.compact_series()
    assert Batch.objects.exists()
    Run.objects.update(state="succeeded")
    before = curves(attempt.run)
    tasks.compact_series()
    assert not Batch.objects.exists()
    assert curves(attempt.run) == before


def test_a_run_that_is_deleted_takes_its_chunks_along(attempt):
    flush(attempt, 0, 5)
    ingest.compact(attempt.run_id)
    attempt.run.delete()
    assert not Chunk.objects.exists()
