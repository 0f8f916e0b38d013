"""Results of probes -> rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runs.models import Attempt, ProbeResult
from workers.records import Line, Probe, ProbeValue


def save_probes(attempt: Attempt, epoch: int, lines: Sequence[Line]) -> None:
    """Store one row per result."""
    ProbeResult.objects.bulk_create(
        ProbeResult(
            run_id=attempt.run_id, attempt=attempt, epoch=epoch, seq=line.seq, step=line.record.step,
            probe=line.record.probe, measure=line.record.measure, subject=line.record.subject, other=line.record.other,
            verdict=line.record.verdict, values=[_present_fields(value) for value in line.record.values],
        )
        for line in lines
        if isinstance(line.record, Probe)
    )  # fmt: skip


def _present_fields(value: ProbeValue) -> dict[str, Any]:
    return {name: field for name, field in vars(value).items() if field is not None and field != ""}
