"""What a run says about itself, and what went wrong with its records: the attempt's phase, machine and events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.db.models import Q

from runs.ingest.storable import storable
from runs.models import Attempt, AttemptEvent, PackageSet
from workers import records
from workers.records import Broken, Environment, Line, Status


def keep_status(attempt: Attempt, lines: Sequence[Line]) -> None:
    """The newest status is the attempt's phase; earlier ones are history, kept in the file."""
    newest = [line.record for line in lines if isinstance(line.record, Status)][-1]
    Attempt.objects.filter(pk=attempt.pk).update(
        phase=storable(newest.phase), phase_message=storable(newest.message), progress=newest.progress
    )


def keep_alerts(attempt: Attempt, lines: Sequence[Line]) -> None:
    """One event an alert."""
    AttemptEvent.objects.bulk_create(
        AttemptEvent(attempt=attempt, level=alert.level, why=_sentence(alert))
        for alert in (line.record for line in lines)
        if isinstance(alert, records.Alert)
    )


def keep_environment(attempt: Attempt, epoch: int, lines: Sequence[Line]) -> None:
    """What the attempt runs on since its newest start."""
    newest = [line.record for line in lines if isinstance(line.record, Environment)][-1]
    is_no_news = Q(environment__epoch__gt=epoch)
    told = {"epoch": epoch, **_storable(asdict(newest))}
    told["packages"] = PackageSet.objects.keep(told["packages"])
    Attempt.objects.filter(Q(pk=attempt.pk), Q(environment__isnull=True) | ~is_no_news).update(environment=told)


def warn_of_broken(attempt: Attempt, epoch: int, broken: Sequence[Broken]) -> None:
    """Lines of the file that are no records: counted, the first one named with its place."""
    if broken:
        first, many = broken[0], f"{len(broken)} lines" if len(broken) > 1 else "A line"
        _warn(attempt, f"{many} of records.{epoch}.jsonl cannot be read, at byte {first.offset}: {first.why}")


def warn_of_refused(attempt: Attempt, epoch: int, refused: Sequence[tuple[int, str]]) -> None:
    """(seq, why) of records that are beyond a limit: counted, the first one named."""
    if refused:
        (seq, why), many = refused[0], f"{len(refused)} records" if len(refused) > 1 else "A record"
        _warn(attempt, f"{many} of records.{epoch}.jsonl cannot be kept, seq {seq}: {why}")


def warn_of_gaps(attempt: Attempt, epoch: int, gaps: Sequence[tuple[int, int]], offset: int) -> None:
    """(expected, got) where the file leaves records out: the first is named, and the bytes before which it lies."""
    if gaps:
        (expected, got), missing = gaps[0], sum(got - expected for expected, got in gaps)
        _warn(
            attempt,
            f"records.{epoch}.jsonl misses {missing} records before byte {offset}: seq {got} follows {expected - 1}",
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


def _warn(attempt: Attempt, why: str) -> None:
    AttemptEvent.objects.create(attempt=attempt, level="warning", why=storable(why))
