"""JSON schemas of exports."""

from __future__ import annotations

from pydantic import Field

from runs.http import Output


class ExportSizeOut(Output):
    """Sizes of an export in bytes, before compression, by part. `is_estimate`: records have to be written from the
    database, and their size is estimated."""

    runs: int = Field(1, description="Number of runs")
    attempts: int
    records: int
    logs: int
    checkpoints: int
    is_estimate: bool
