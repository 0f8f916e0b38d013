"""Metric records as they were written, from chunks and batches: one epoch after the other, in bounded memory.

The store numbers the records of a flush from the flush's first seq. So the numbers ascend and are unique within an
epoch, and none is above the record's own seq, which is not stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from runs.metrics.chunks import TIMES, Packed, columns_of
from runs.metrics.packing import AXES, Ints, unpack
from runs.models import Batch, Chunk
from workers.records import Metric

MAX_CELLS = 400_000
"""Values of the records that are built together."""
BATCHES_PER_QUERY = 50
Numbered = tuple[int, float, Metric]
"""(number of the record, Unix time, record)."""


def metric_records(attempt_id: int, epoch: int) -> Iterator[Numbered]:
    """Yield the metric records of an epoch in the order written, with all bits of their values and times."""
    last = -1
    while True:
        before = last
        for stream in (_from_chunks, _from_batches):
            for numbered in stream(attempt_id, epoch, last):
                last = numbered[0]
                yield numbered
        # A flush may have arrived, or moved into a chunk, since the chunks were read.
        if last == before:
            return


def _from_batches(attempt_id: int, epoch: int, last: int) -> Iterator[Numbered]:
    rows = Batch.objects.filter(attempt=attempt_id, epoch=epoch).order_by("first_seq")
    while batches := list(rows.filter(first_seq__gt=last)[:BATCHES_PER_QUERY]):
        for batch in batches:
            columns = dict(columns_of(unpack(batch.keys, batch.data), batch.first_seq))
            times = columns.pop(TIMES)
            values = {key: (column.records, column.values.tolist()) for key, column in columns.items()}
            yield from _records(times.records, times.steps, times.values.tolist(), values)
        last = batches[-1].first_seq


def _from_chunks(attempt_id: int, epoch: int, last: int) -> Iterator[Numbered]:
    rows = Chunk.objects.filter(attempt=attempt_id, epoch=epoch).order_by("first_seq")
    open_parts: dict[str, list[Packed]] = defaultdict(list)
    loaded_to = -1
    for pk in list(rows.filter(key=TIMES).values_list("pk", flat=True)):
        if (data := rows.filter(pk=pk).values_list("data", flat=True).first()) is None:
            # Compaction has just replaced the chunk. The caller continues after the last record.
            return
        packed = Packed.open(bytes(data))
        numbers, steps, clock = packed.records, packed.steps, packed.values.tolist()
        for key, data in (
            rows.exclude(key=TIMES)
            .filter(first_seq__gt=loaded_to, first_seq__lte=int(numbers[-1]))
            .values_list("key", "data")
        ):
            open_parts[key].append(Packed.open(bytes(data)))
        loaded_to = int(numbers[-1])
        width = max(1, MAX_CELLS // max(1, len(open_parts)))
        for start in range(int(np.searchsorted(numbers, last, "right")), len(numbers), width):
            window = slice(start, start + width)
            values = _values(open_parts, int(numbers[window][0]), int(numbers[window][-1]))
            yield from _records(numbers[window], steps[window], clock[window], values)
        _drop_finished(open_parts, loaded_to)


def _values(parts_by_key: dict[str, list[Packed]], first: int, last: int) -> dict[str, tuple[Ints, list[float]]]:
    """Return by key the records from `first` to `last` that have it, and its values."""
    cells_by_key: dict[str, tuple[Ints, list[float]]] = {}
    for key in sorted(parts_by_key):
        records, values = [], list[float]()
        for part in parts_by_key[key]:
            numbers = part.records
            cells = slice(int(np.searchsorted(numbers, first)), int(np.searchsorted(numbers, last, "right")))
            records.append(numbers[cells])
            values += part.values[cells].tolist()
        if values:
            cells_by_key[key] = (np.concatenate(records), values)
    return cells_by_key


def _drop_finished(parts_by_key: dict[str, list[Packed]], last: int) -> None:
    for key in list(parts_by_key):
        parts_by_key[key] = [part for part in parts_by_key[key] if int(part.records[-1]) > last]
        if not parts_by_key[key]:
            del parts_by_key[key]


def _records(
    numbers: Ints, steps: Ints, clock: Sequence[float], values: dict[str, tuple[Ints, list[float]]]
) -> Iterator[Numbered]:
    """Yield the records with these ascending numbers, filled with the values that each of them has."""
    cells: list[dict[str, float]] = [{} for _ in range(len(numbers))]
    for key, (records, key_values) in values.items():
        for row, value in zip(np.searchsorted(numbers, records).tolist(), key_values, strict=True):
            cells[row][key] = value
    for number, step, t, row in zip(numbers.tolist(), steps.tolist(), clock, cells, strict=True):
        axes = {key.removeprefix(AXES): value for key, value in row.items() if key.startswith(AXES)}
        yield number, t, Metric(step, {key: row[key] for key in row if not key.startswith(AXES)}, axes)
