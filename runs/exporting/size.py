"""Sizes of exports, before they are made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.models import Count, QuerySet, Sum, TextField
from django.db.models.functions import Cast, Length

from runs.exporting.attempt_folder import FILES, Parts, checkpoint_files, own_files, records_origin
from runs.models import Attempt, Batch, Chunk, Population, Response, Run
from workers.records import records_path

POINT_BYTES, RESPONSE_BYTES, PACKED = 24, 160, 3
"""Rough sizes as text of JSON: of a metric's value, of a response without its text, and of a packed byte."""


@dataclass(frozen=True)
class ExportSize:
    """Sizes before compression, in bytes. Records that are written from rows are estimated: `is_estimate`."""

    records: int = 0
    logs: int = 0
    checkpoints: int = 0
    attempts: int = 0
    is_estimate: bool = False

    def of(self, parts: Parts) -> int:
        """Return the size of an export with these parts."""
        logs, checkpoints = self.logs * parts.has_logs, self.checkpoints * parts.has_checkpoints
        return self.records + logs + checkpoints


def export_size(runs: Sequence[Run]) -> ExportSize:
    """Return the sizes of the parts of an export of these runs. At most six queries, however many runs there are."""
    rows = Attempt.objects.filter(run__in=runs).select_related("run", "cluster").prefetch_related("record_files")
    attempts = list(rows)
    with_files = [attempt for attempt in attempts if records_origin(attempt) == FILES]
    others = [attempt for attempt in attempts if attempt not in with_files]
    return ExportSize(
        records=sum(map(_file_bytes, with_files)) + _row_bytes(others),
        logs=sum(_bytes(path for path, _ in own_files(attempt.directory, Parts())) for attempt in attempts),
        checkpoints=sum(_bytes(path for path, _ in checkpoint_files(attempt.directory)) for attempt in attempts),
        attempts=len(attempts),
        is_estimate=bool(others),
    )


def _file_bytes(attempt: Attempt) -> int:
    return _bytes(records_path(attempt.directory, file.epoch) for file in attempt.record_files.all())


def _row_bytes(attempts: Sequence[Attempt]) -> int:
    """Return an estimate of the records of attempts that have no files."""
    if not attempts:
        return 0
    answers = Response.objects.filter(attempt__in=attempts).aggregate(n=Count("pk"), size=Sum(Length("text")))
    points = _sum(Chunk.objects.filter(attempt__in=attempts), "points")
    packed = _sum(Batch.objects.filter(attempt__in=attempts), Length("data"))
    members = _sum(Population.objects.filter(attempt__in=attempts), Length(Cast("members", TextField())))
    responses = int(answers["n"]) * RESPONSE_BYTES + int(answers["size"] or 0)
    return points * POINT_BYTES + packed * PACKED + responses + members


def _sum(rows: QuerySet[Any], expression: Any) -> int:
    total: int | None = rows.aggregate(total=Sum(expression))["total"]
    return total or 0


def _bytes(paths: Iterable[Path]) -> int:
    return sum(path.lstat().st_size for path in paths if path.exists())
