"""Merge batches into chunks: points that were written per flush are joined per key, so that a chart reads only its
keys.

Each step is one transaction, under the lock of the run's writers. A process that is killed leaves no partial work.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby

import numpy as np
from django.db import transaction
from django.db.models import Count, Max, Q, Sum
from django.db.models.functions import Length

from runs.ingest.writer import lock_run
from runs.metrics import (
    POINTS,
    TIMES,
    Column,
    columns_of,
    join,
    known_times,
    pack_chunk,
    unpack,
    unpack_chunk,
)
from runs.models import Batch, Chunk, Run, Series
from workers.executors.states import OPEN_STATES

BATCHES_PER_TRANSACTION = 500
"""Batches of one transaction take some megabytes of memory, and block a writer of the run only briefly."""
MAX_LOOSE_BATCHES = 200
MAX_LOOSE_BYTES = 4_000_000
"""Batches that a running run may leave uncompacted: a chart reads them quickly, and chunks are rewritten less often."""
Writer = tuple[int, int]
"""(attempt id, epoch) of a process that wrote records."""


def loose_runs() -> list[int]:
    """Return the ids of the runs to compact: those with many batches, and ended runs with any."""
    is_ended = ~Q(run__state__in=[state.value for state in OPEN_STATES])
    rows = Batch.objects.values("run_id", "run__state").annotate(batches=Count("id"), size=Sum(Length("data")))
    worth = rows.filter(is_ended | Q(batches__gt=MAX_LOOSE_BATCHES) | Q(size__gt=MAX_LOOSE_BYTES))
    return list(worth.order_by("run_id").values_list("run_id", flat=True))


def compact_loose(seconds: float) -> None:
    """Compact the runs that have loose batches, one after the other, until there are none or `seconds` have passed."""
    deadline = time.monotonic() + seconds
    for run_id in loose_runs():
        while time.monotonic() < deadline and compact(run_id):
            pass


def compact(run_id: int) -> int:
    """Move the points of the run's oldest batches into chunks. Return the number of batches, 0 if there are none."""
    with transaction.atomic():
        lock_run(run_id, durable=True)
        batches = list(Batch.objects.filter(run=run_id).order_by("id")[:BATCHES_PER_TRANSACTION])
        by_writer = sorted(batches, key=lambda batch: (_writer(batch), batch.first_seq))
        for writer, written in groupby(by_writer, _writer):
            _compact_writer(run_id, writer, list(written))
        Batch.objects.filter(pk__in=[batch.pk for batch in batches]).delete()
        if batches and not Batch.objects.filter(run=run_id).exists():
            store_last_step(run_id)
    return len(batches)


def store_last_step(run_id: int) -> None:
    """Store the newest step of a run without batches, for tables. A flush does not, as it would write to its run."""
    newest = Series.objects.filter(run=run_id).aggregate(newest=Max("last_step"))["newest"]
    Run.objects.filter(pk=run_id).exclude(last_step=newest or 0).update(last_step=newest or 0)


def _writer(batch: Batch) -> Writer:
    return batch.attempt_id, batch.epoch


def _compact_writer(run_id: int, writer: Writer, batches: Sequence[Batch]) -> None:
    attempt_id, epoch = writer
    columns: dict[str, list[Column]] = defaultdict(list)
    for batch in batches:
        for key, points in columns_of(unpack(batch.keys, batch.data), batch.first_seq):
            columns[key].append(points)
    open_chunks = Chunk.objects.filter(attempt=attempt_id, epoch=epoch, points__lt=POINTS, key__in=list(columns))
    grown = {chunk.key: unpack_chunk(bytes(chunk.data)) for chunk in open_chunks}
    open_chunks.delete()
    cursor = max(batch.pk for batch in batches)
    Chunk.objects.bulk_create(
        _chunk(key, part, run_id=run_id, attempt_id=attempt_id, epoch=epoch, cursor=cursor)
        for key, parts in columns.items()
        for part in join([*([grown[key]] if key in grown else []), *parts]).cut()
    )


def _chunk(key: str, points: Column, **fields: object) -> Chunk:
    values = known_times(points.values) if key == TIMES else points.values
    numbers = values[~np.isnan(values)]
    return Chunk(
        **fields,
        key=key,
        first_seq=points.records[0],
        points=len(points),
        first_step=points.steps[0],
        last_step=points.steps[-1],
        last_value=points.values[-1],
        min_value=numbers.min() if len(numbers) else None,
        max_value=numbers.max() if len(numbers) else None,
        data=pack_chunk(points),
    )


def delete_records(run: Run) -> None:
    """Delete the run's attempts with their records, its series and its collapse measurements."""
    with transaction.atomic():
        lock_run(run.pk, durable=True)
        run.attempts.all().delete()
        run.series.all().delete()
        run.collapses.all().delete()
        store_last_step(run.pk)
