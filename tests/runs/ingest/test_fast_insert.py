"""A push in one trip to the database leaves the rows that the long way leaves, and leaves to that what is not plain."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from runs import access, ingest
from runs.ingest import Columns, Gap, PushResult, as_columns, insert_push, push
from runs.metrics import newest
from runs.models import ApiToken, Attempt, Batch, Experiment, RecordFile, Run, Series
from tests.runs.attempt_records import lines, make_attempt, make_run, metrics
from workers.records import Metric, Status

pytestmark = pytest.mark.django_db(transaction=True)
NAN, INF = float("nan"), float("inf")


@pytest.fixture
def attempt(experiment: Experiment) -> Attempt:
    return make_attempt(make_run(experiment))


@pytest.fixture
def token(ada: User, attempt: Attempt) -> str:
    return access.issue(ada, "ingest", run=attempt.run)[1]


def columns(count: int, first: int = 0) -> Columns:
    parsed = as_columns(metrics(count, first))
    assert parsed is not None
    return parsed


def rows(run: Run) -> list[object]:
    """Return everything that a push stores of a run, except row ids."""
    files = RecordFile.objects.filter(attempt__run=run).order_by("attempt__n", "epoch")
    batches = Batch.objects.filter(run=run).order_by("id")
    series = Series.objects.filter(run=run).order_by("key")
    return [
        list(files.values_list("attempt__n", "epoch", "offset", "next_seq")),
        list(batches.values_list("attempt__n", "epoch", "first_seq", "last_seq", "keys", "data")),
        repr(list(series.values_list("key", "points", "last_step", "last_value", "min_value", "max_value"))),
    ]


def test_fast_insert_stores_the_same_rows_as_the_writer(experiment: Experiment, ada: User) -> None:
    pieces = [
        (1, 0, lines([Metric(3, {"a": NAN, "b": INF}), Metric(1, {"a": 2.0}, {"tokens": 1.0})])),
        (1, 0, lines([Metric(2, {"a": -INF}), Metric(2, {"b": 0.1})], first=2)),
        (2, 1, lines([Metric(9, {"a": 5.5, "only nan": NAN})])),
        (1, 1, lines([Metric(4, {"a": 7.0})])),
        (2, 1, lines([Metric(10, {"a": -8.25, "é\"},{": 1e-300})], first=1)),
    ]  # fmt: skip
    long, quick = make_run(experiment, "long"), make_run(experiment, "quick")
    token = access.issue(ada, "ingest", run=quick)[1]
    for run in (long, quick):
        attempts = {n: make_attempt(run, n, "failed") for n in (1, 2)}
        for n, epoch, some in pieces:
            parsed = as_columns(some)
            assert parsed is not None
            result = (
                push(attempts[n], epoch, parsed)
                if run is long
                else insert_push(token, attempts[n].key, epoch, parsed)
            )  # fmt: skip
            assert result == PushResult(len(some), some[-1].seq + 1)
    assert rows(quick) == rows(long)
    assert newest(quick.pk) == Batch.objects.filter(run=quick).latest("id").pk


def test_repeated_push_counts_once(attempt: Attempt, token: str) -> None:
    assert insert_push(token, attempt.key, 0, columns(5)) == PushResult(5, 5)
    before = rows(attempt.run)
    assert insert_push(token, attempt.key, 0, columns(5)) == PushResult(0, 5)
    assert insert_push(token, attempt.key, 0, columns(2, first=1)) == PushResult(0, 5)
    assert rows(attempt.run) == before


def test_gap_and_partial_overlap_take_the_slow_path(attempt: Attempt, token: str) -> None:
    assert insert_push(token, attempt.key, 0, columns(2, first=1)) is None
    assert not RecordFile.objects.exists()
    insert_push(token, attempt.key, 0, columns(3))
    before = rows(attempt.run)
    assert insert_push(token, attempt.key, 0, columns(2, first=4)) is None
    assert insert_push(token, attempt.key, 0, columns(5)) is None
    assert rows(attempt.run) == before


def test_records_without_a_point_are_for_the_long_way(attempt: Attempt, token: str) -> None:
    empty = as_columns(lines([Metric(0, {})]))
    assert empty is not None
    assert insert_push(token, attempt.key, 0, empty) is None
    assert not RecordFile.objects.exists()


def test_token_without_rights_writes_nothing(attempt: Attempt, token: str, experiment: Experiment) -> None:
    other = make_attempt(make_run(experiment))
    assert insert_push("esw_wrong", attempt.key, 0, columns(1)) is None
    assert insert_push(token, other.key, 0, columns(1)) is None
    assert insert_push(token, "esweb-none-a1", 0, columns(1)) is None
    ApiToken.objects.update(expires_at=timezone.now())
    assert insert_push(token, attempt.key, 0, columns(1)) is None
    assert not RecordFile.objects.exists()
    assert not Batch.objects.exists()


def test_a_tokens_use_is_noted_at_most_once_a_minute(attempt: Attempt, token: str) -> None:
    insert_push(token, attempt.key, 0, columns(1))
    noted = ApiToken.objects.get().last_used_at
    assert noted is not None
    insert_push(token, attempt.key, 0, columns(1, first=1))
    assert ApiToken.objects.get().last_used_at == noted
    ApiToken.objects.update(last_used_at=noted - timedelta(minutes=2))
    insert_push(token, attempt.key, 0, columns(1, first=2))
    assert ApiToken.objects.get().last_used_at > noted


def test_lines_are_columns_only_where_they_are_metrics_in_order() -> None:
    assert as_columns(metrics(2) + metrics(1, first=3)) is None
    assert as_columns(metrics(2)[::-1]) is None
    assert as_columns(lines([Metric(0, {"a": 1.0}), Status("training", "", 0.5)])) is None
    assert as_columns([]) is not None
    parsed = as_columns(metrics(3, first=4))
    assert parsed is not None
    assert (parsed.first_seq, parsed.next_seq, np.asarray(parsed.points.steps).tolist()) == (4, 7, [4, 5, 6])


@pytest.mark.parametrize("runs", [1, 8], ids=["the same run", "runs of their own"])
def test_concurrent_writers_on_both_paths_store_each_record_once(experiment: Experiment, ada: User, runs: int) -> None:
    attempts = [make_attempt(make_run(experiment, f"es {i}")) for i in range(runs)]
    tokens = [access.issue(ada, "ingest", run=attempt.run)[1] for attempt in attempts]

    def write(number: int) -> None:
        """Push the whole file in pieces, each twice, by the fast path if it accepts them."""
        attempt, token, sent, size = attempts[number % runs], tokens[number % runs], 0, 5 + number % 7
        while sent < 60:
            piece = columns(min(size, 60 - sent), sent)
            try:
                result = insert_push(token, attempt.key, 0, piece) or ingest.push(attempt, 0, piece)
                ingest.push(attempt, 0, metrics(60)[max(0, sent - 3) : sent + size])
                sent = min(sent + size, result.next_seq)
            except Gap as gap:
                sent = gap.expected

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: (write(number), connection.close()), range(8)))
    assert [file.next_seq for file in RecordFile.objects.all()] == [60] * runs
    assert [s.points for s in Series.objects.filter(key="reward/mean")] == [60] * runs
