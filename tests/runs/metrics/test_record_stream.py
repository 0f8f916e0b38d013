"""Metric records read back as they were written, from chunks and batches."""

from __future__ import annotations

import math

import numpy as np
import pytest

from runs.ingest import compact, ingest
from runs.metrics import record_stream
from runs.metrics.record_stream import metric_records
from runs.models import Attempt, Experiment
from tests.runs.attempt_records import answer, make_attempt, make_run
from workers.records import Line, Metric, Record

COUNT = 9_000
"""Records: two full chunks of each key and a part of a third."""


def record_at(seq: int) -> Record:
    """Return a record: most are metrics of several keys, which are measured at different intervals."""
    if seq % 7 == 3:
        return answer(seq)
    values = {"loss": 1 / (seq + 1), "kl": float(np.float32(seq) / 3)}
    if seq % 5 == 0:
        values["rare"] = math.nan if seq % 10 else -0.0
    return Metric(seq % 4000, values, {"tokens": 10.0 * seq} if seq % 2 else {})


@pytest.fixture
def attempt(experiment: Experiment) -> Attempt:
    """Create an attempt with records of two epochs, some of them in chunks and the newest in batches."""
    attempt = make_attempt(make_run(experiment))
    for first in range(0, COUNT, 1500):
        if first == 6000:
            while compact(attempt.run_id):
                pass
        ingest(attempt, 0, [Line(seq, 1.7e9 + seq / 3, record_at(seq)) for seq in range(first, first + 1500)])
    ingest(attempt, 1, [Line(0, 1.0, Metric(1, {"loss": 5e-324}))])
    return attempt


def test_records_keep_order_steps_times_and_bits(attempt: Attempt, monkeypatch: pytest.MonkeyPatch) -> None:
    # Windows that are shorter than a chunk, as those of runs with hundreds of keys.
    monkeypatch.setattr(record_stream, "MAX_CELLS", 3000)
    expected = [(seq, 1.7e9 + seq / 3, record_at(seq)) for seq in range(COUNT)]
    expected = [(seq, t, record) for seq, t, record in expected if isinstance(record, Metric)]
    streamed = list(metric_records(attempt.pk, 0))
    numbers = [number for number, _, _ in streamed]
    assert numbers == sorted(set(numbers)) and all(n <= seq for n, (seq, _, _) in zip(numbers, expected, strict=True))
    # repr tells -0.0 from 0.0 and shows NaN as itself.
    read, written = (
        [(t, record.step, sorted(map(repr, record.values.items())), record.axes) for _, t, record in records]
        for records in (streamed, expected)
    )
    assert read == written
    assert [record.values for _, _, record in metric_records(attempt.pk, 1)] == [{"loss": 5e-324}]
    assert list(metric_records(attempt.pk, 2)) == []
