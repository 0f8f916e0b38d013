"""Store a run's own reports and the problems of its records: the attempt's phase, machine and events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.db.models import Q

from runs.ingest.storable import storable
from runs.models import Attempt, AttemptEvent, PackageSet
from workers import records
from workers.records import BrokenLine, Environment, Line, Status


def save_status(attempt: Attempt, lines: Sequence[Line]) -> None:
    """Store the newest status as the attempt's phase. Earlier ones remain in the file only."""
    newest = [line.record for line in lines if isinstance(line.record, Status)][-1]
    Attempt.objects.filter(pk=attempt.pk).update(
        phase=storable(newest.phase), phase_message=storable(newest.message), progress=newest.progress
    )


def save_alerts(attempt: Attempt, lines: Sequence[Line]) -> None:
    """Store each alert as an attempt event."""
    AttemptEvent.objects.bulk_create(
        AttemptEvent(attempt=attempt, level=alert.level, why=_sentence(alert))
        for alert in (line.record for line in lines)
        if isinstance(alert, records.Alert)
    )


def save_environment(attempt: Attempt, epoch: int, lines: Sequence[Line]) -> None:
    """Store the environment of the attempt's newest start."""
    newest = [line.record for line in lines if isinstance(line.record, Environment)][-1]
    is_older = Q(environment__epoch__gt=epoch)
    environment = {"epoch": epoch, **_storable(asdict(newest))}
    environment["packages"] = PackageSet.objects.store(environment["packages"])
    Attempt.objects.filter(Q(pk=attempt.pk), Q(environment__isnull=True) | ~is_older).update(environment=environment)


def warn_of_broken(attempt: Attempt, epoch: int, broken: Sequence[BrokenLine]) -> None:
    """Store a warning with the number of unreadable lines, and the first one with its byte offset."""
    if broken:
        first, count = broken[0], f"{len(broken)} lines" if len(broken) > 1 else "A line"
        _warn(attempt, f"{count} of records.{epoch}.jsonl cannot be read, at byte {first.offset}: {first.reason}")


def warn_of_refused(attempt: Attempt, epoch: int, refused: Sequence[tuple[int, str]]) -> None:
    """Store a warning with the number of refused records, given as (seq, reason), and the first one."""
    if refused:
        (seq, reason), count = refused[0], f"{len(refused)} records" if len(refused) > 1 else "A record"
        _warn(attempt, f"{count} of records.{epoch}.jsonl cannot be stored, seq {seq}: {reason}")


def warn_of_gaps(attempt: Attempt, epoch: int, gaps: Sequence[tuple[int, int]], offset: int) -> None:
    """Store a warning with the number of missing records, given as (expected seq, actual seq), and the first gap.

    The file was read up to byte `offset`.
    """
    if gaps:
        (expected, got), missing = gaps[0], sum(got - expected for expected, got in gaps)
        _warn(
            attempt,
            f"records.{epoch}.jsonl lacks {missing} records before byte {offset}: seq {got} follows {expected - 1}",
        )


def _sentence(alert: records.Alert) -> str:
    text = storable(alert.message)
    return text if alert.step is None else f"Step {alert.step}: {text}"


def _storable(value: Any) -> Any:
    if isinstance(value, dict):
        return {storable(name): _storable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(item) for item in value]
    return storable(value) if isinstance(value, str) else value


def _warn(attempt: Attempt, reason: str) -> None:
    AttemptEvent.objects.create(attempt=attempt, level="warning", why=storable(reason))
