"""Batches -> chunks: what was written flush by flush, put together key by key, so that a chart reads only its keys.

One transaction a piece of work, under the lock of the run's writers: killed in the middle, it has done nothing.
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

from runs.ingest.writer import lock
from runs.metrics import POINTS, Column, columns_of, join, pack_chunk, unpack, unpack_chunk
from runs.models import Batch, Chunk, Run, Series
from workers.executors.states import OPEN_STATES

BATCHES_AT_ONCE = 500
"""Of one transaction: some megabytes of memory, and a writer of the run waits a moment at most."""
LOOSE_BATCHES = 200
LOOSE_BYTES = 4_000_000
"""What a run that goes on may leave loose: a chart reads this much quickly, and a chunk is written again less often."""
Writer = tuple[int, int]
"""(attempt id, epoch): a process that wrote records."""


def loose_runs() -> list[int]:
    """Ids of the runs with batches worth compacting: many of them, or any where the run has ended."""
    of_ended = ~Q(run__state__in=[state.value for state in OPEN_STATES])
    rows = Batch.objects.values("run_id", "run__state").annotate(batches=Count("id"), size=Sum(Length("data")))
    worth = rows.filter(of_ended | Q(batches__gt=LOOSE_BATCHES) | Q(size__gt=LOOSE_BYTES))
    return list(worth.order_by("run_id").values_list("run_id", flat=True))


def compact_loose(seconds: float) -> None:
    """Compact the runs that have loose batches, one after the other, until there are none or the time is over."""
    until = time.monotonic() + seconds
    for run_id in loose_runs():
        while time.monotonic() < until and compact(run_id):
            pass


def compact(run_id: int) -> int:
    """Moves the points of the run's oldest batches into chunks; how many batches those were. 0: nothing is loose."""
    with transaction.atomic():
        lock(run_id, durable=True)
        batches = list(Batch.objects.filter(run=run_id).order_by("id")[:BATCHES_AT_ONCE])
        by_writer = sorted(batches, key=lambda batch: (_writer(batch), batch.first_seq))
        for writer, written in groupby(by_writer, _writer):
            _compact_writer(run_id, writer, list(written))
        Batch.objects.filter(pk__in=[batch.pk for batch in batches]).delete()
        if batches and not Batch.objects.filter(run=run_id).exists():
            keep_last_step(run_id)
    return len(batches)


def keep_last_step(run_id: int) -> None:
    """Keeps the newest step of a run without batches, for tables. Not at each flush: that would write to its run."""
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
        _chunk(part, run_id=run_id, attempt_id=attempt_id, epoch=epoch, key=key, cursor=cursor)
        for key, parts in columns.items()
        for part in join([*([grown[key]] if key in grown else []), *parts]).cut()
    )


def _chunk(points: Column, **where: object) -> Chunk:
    known = points.values[~np.isnan(points.values)]
    return Chunk(
        **where,
        first_seq=points.records[0],
        points=len(points),
        first_step=points.steps[0],
        last_step=points.steps[-1],
        last_value=points.values[-1],
        min_value=known.min() if len(known) else None,
        max_value=known.max() if len(known) else None,
        data=pack_chunk(points),
    )


def forget(run: Run) -> None:
    """Removes the run's attempts with their records, and what tables show of its series."""
    with transaction.atomic():
        lock(run.pk, durable=True)
        run.attempts.all().delete()
        run.series.all().delete()
        run.collapses.all().delete()
        keep_last_step(run.pk)
