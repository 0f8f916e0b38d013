"""The recount finds every stored record, in batches and chunks, and detects each missing or duplicate record."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

from runs.ingest import compact
from runs.models import Attempt, Batch, Chunk, Experiment, Response
from tests.chaos.recount import differences, read_file
from tests.runs.attempt_records import make_attempt, make_run
from workers.records import Checkpoint, Engine, Engines, Member, Metric, Population, RecordWriter, records_path
from workers.records import Response as Answer

RECORDS = 9000
READY = Engine(1, "ready", "cuda:1\0", 15, 900, 1.25, 1, "ab" * 32, 40)


@pytest.fixture
def attempt(experiment: Experiment, runs_dir: Path) -> Attempt:
    """Return an attempt with every kind of record, all stored by the follower."""
    attempt = make_attempt(make_run(experiment))
    with RecordWriter(attempt.directory, 0) as records:
        for step in range(RECORDS):
            values = {"loss": 1 / (step + 3), "lr": 0.5} | ({"odd": math.nan} if step % 7 == 0 else {})
            records.write(Metric(step // 2, values, {"tokens": step**2}))
            if step % 1000 == 0:
                records.write(Population(step, (Member(7, 0.5, {"length": 2.0}, math.inf, 1), Member(8, 1.0))))
                records.write(Engines(step, 480, (Engine(0, "ready", "cuda:0", 15, 960, 1.5), READY)))
                records.write(Answer(step, "eval", f"p{step}", 0, "twelve\0\ud800", 3, 0.25, {"exact": 1.0}, 0.125))
                records.write(Checkpoint(step, f"checkpoints/step-{step}", 12, "ab" * 32))
    call_command("follow", "--once")
    return attempt


def find_differences(attempt: Attempt) -> list[str]:
    connection.ensure_connection()
    return differences(connection.connection, attempt.pk, 0, records_path(attempt.directory, 0))


def test_recount_matches_batches_and_chunks(attempt: Attempt) -> None:
    assert read_file(records_path(attempt.directory, 0)).total() == RECORDS + 4 * 9
    assert find_differences(attempt) == []
    assert Batch.objects.count() > 1
    compact(attempt.run_id)
    assert Chunk.objects.exists() and not Batch.objects.exists()
    assert find_differences(attempt) == []


def test_recount_reports_missing_and_duplicate_kinds(attempt: Attempt) -> None:
    Response.objects.first().delete()
    (batch,) = Batch.objects.order_by("first_seq")[:1]
    Batch.objects.create(
        run_id=batch.run_id, attempt=attempt, epoch=0, first_seq=10**6, last_seq=10**6, keys=batch.keys, data=batch.data
    )
    metrics, responses = find_differences(attempt)
    assert metrics.startswith(f"records.0.jsonl: of {RECORDS} metric records 0 are missing, ")
    assert "missing, 0 too many" not in metrics
    assert responses.startswith("records.0.jsonl: of 9 response records 1 are missing, 0 too many: ('response', 3, 0, ")
