"""Store records. Each call is one transaction, which commits the rows and the file offset together, so that no record
is counted twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from django.db import connection, transaction

from runs.ingest.attack_rows import save_attacks
from runs.ingest.columnar import Columns
from runs.ingest.events import (
    save_alerts,
    save_environment,
    save_status,
    warn_of_broken,
    warn_of_gaps,
    warn_of_refused,
)
from runs.ingest.limits import refusal
from runs.ingest.metrics import StoredBatch, save_points
from runs.ingest.record_times import bad_times, warn_of_times
from runs.ingest.response_rows import save_checkpoints, save_engines, save_populations, save_probes, save_responses
from runs.metrics import block, live
from runs.models import Attempt, RecordFile
from workers.records import (
    Alert,
    Attack,
    BrokenLine,
    Checkpoint,
    Engines,
    Environment,
    Line,
    Metric,
    Population,
    Probe,
    Response,
    Status,
)

# Part of a page that is fetched again after new records of a kind. Points are published themselves.
PAGE_PARTS = {
    Response: "responses",
    Population: "population",
    Engines: "engines",
    Checkpoint: "checkpoints",
    Probe: "probes",
    Attack: "attacks",
    Status: "state",
    Alert: "state",
}


class Gap(Exception):
    """Error for a push that omits records. `expected` is the seq to continue from."""

    def __init__(self, expected: int, got: int) -> None:
        super().__init__(f"The next record must have seq {expected}, not {got}; send records from {expected}")
        self.expected = expected
        self.got = got


class OffsetMismatch(Exception):
    """Error if the database has read the epoch's file to byte `offset`, not to the caller's offset.

    This happens if another follower was faster, or if PostgreSQL crashed and lost unflushed rows.
    """

    def __init__(self, key: str, epoch: int, offset: int, expected: int) -> None:
        super().__init__(f"records.{epoch}.jsonl of {key} is read to byte {offset}, not {expected}")
        self.offset = offset


@dataclass(frozen=True)
class PushResult:
    """Result of a push: the number of new records and the next expected seq."""

    new: int
    next_seq: int


def push(attempt: Attempt, epoch: int, pushed: Sequence[Line] | Columns) -> PushResult:
    """Store the new records of a push over HTTP. Raise Gap if it omits records."""
    return (
        _store_columns(attempt, epoch, pushed) if isinstance(pushed, Columns) else _store_lines(attempt, epoch, pushed)
    )


def ingest(
    attempt: Attempt,
    epoch: int,
    lines: Sequence[Line],
    *,
    offset: int | None = None,
    since: int | None = None,
    broken: Sequence[BrokenLine] = (),
) -> int:
    """Store the records that are not in the database yet and return their number. A repeated call stores nothing.

    With `offset` the lines come from the epoch's file, read up to that byte: a gap is stored with a warning, as are
    `broken` lines. Without, they were pushed, and a gap raises Gap. Raise OffsetMismatch, and store nothing, if `since`
    is given and the database has not read the file to exactly that byte. After the commit pages are notified.
    """
    return _store_lines(attempt, epoch, lines, offset, since, broken).new


def _store_lines(
    attempt: Attempt,
    epoch: int,
    lines: Sequence[Line],
    offset: int | None = None,
    since: int | None = None,
    broken: Sequence[BrokenLine] = (),
) -> PushResult:
    with transaction.atomic():
        lock_run(attempt.run_id, durable=offset is None or not all(isinstance(line.record, Metric) for line in lines))
        file, _ = RecordFile.objects.get_or_create(attempt=attempt, epoch=epoch)
        if since is not None and file.offset != since:
            raise OffsetMismatch(attempt.key, epoch, file.offset, since)
        fresh = _new_lines(lines, file.next_seq)
        _check_gaps(attempt, file, fresh, offset)
        accepted = _accept_lines(attempt, epoch, fresh)
        warn_of_broken(attempt, epoch, broken)
        warn_of_times(attempt, epoch, bad_times(accepted), is_record_file=offset is not None)
        stored = _save_records(attempt, file, accepted)
        _advance(file, fresh, offset)
        transaction.on_commit(
            partial(_publish, attempt.run.uid, stored, _changed_parts(accepted, warned=len(fresh) > len(accepted)))
        )
    return PushResult(len(accepted), file.next_seq)


def _store_columns(attempt: Attempt, epoch: int, columns: Columns) -> PushResult:
    with transaction.atomic():
        lock_run(attempt.run_id, durable=True)
        file, _ = RecordFile.objects.get_or_create(attempt=attempt, epoch=epoch)
        if len(columns) and columns.first_seq > file.next_seq:
            raise Gap(file.next_seq, columns.first_seq)
        fresh = columns.since(file.next_seq)
        if len(fresh):
            stored = save_points(attempt, epoch, (fresh.first_seq, fresh.next_seq - 1), fresh.points)
            warn_of_times(attempt, epoch, bad_times(fresh))
            file.next_seq = fresh.next_seq
            file.save(update_fields=["next_seq"])
            transaction.on_commit(partial(_publish, attempt.run.uid, stored, []))
    return PushResult(len(fresh), file.next_seq)


def _new_lines(lines: Sequence[Line], next_seq: int) -> list[Line]:
    """Return the lines from `next_seq` on, by seq, each once."""
    return [line for _, line in sorted({line.seq: line for line in lines if line.seq >= next_seq}.items())]


def _check_gaps(attempt: Attempt, file: RecordFile, fresh: Sequence[Line], offset: int | None) -> None:
    expected = [file.next_seq, *(line.seq + 1 for line in fresh)]
    gaps = [(e, line.seq) for e, line in zip(expected, fresh, strict=False) if e != line.seq]
    if gaps and offset is None:
        raise Gap(*gaps[0])
    warn_of_gaps(attempt, file.epoch, gaps, offset or 0)


def _accept_lines(attempt: Attempt, epoch: int, fresh: Sequence[Line]) -> list[Line]:
    """Return the lines within the limits, and store a warning about the others."""
    reasons = [(line, refusal(line)) for line in fresh]
    warn_of_refused(attempt, epoch, [(line.seq, reason) for line, reason in reasons if reason])
    return [line for line, reason in reasons if not reason]


def _save_records(attempt: Attempt, file: RecordFile, lines: Sequence[Line]) -> StoredBatch | None:
    kinds = {type(line.record) for line in lines}
    if Population in kinds:
        save_populations(attempt, file.epoch, lines)
    if Engines in kinds:
        save_engines(attempt, file.epoch, lines)
    if Response in kinds:
        save_responses(attempt, file.epoch, lines)
    if Checkpoint in kinds:
        save_checkpoints(attempt, file.epoch, lines)
    if Probe in kinds:
        save_probes(attempt, file.epoch, lines)
    if Attack in kinds:
        save_attacks(attempt, file.epoch, lines)
    if Alert in kinds:
        save_alerts(attempt, lines)
    if Status in kinds:
        save_status(attempt, lines)
    if Environment in kinds:
        save_environment(attempt, file.epoch, lines)
    metrics = [(n.seq, n.t, n.record) for n in lines if isinstance(n.record, Metric)]
    if not metrics:
        return None
    points = block((t, record) for _, t, record in metrics)
    return save_points(attempt, file.epoch, (metrics[0][0], metrics[-1][0]), points)


def _advance(file: RecordFile, fresh: Sequence[Line], offset: int | None) -> None:
    if fresh:
        file.next_seq = fresh[-1].seq + 1
    if offset is not None:
        file.offset = offset
    file.save(update_fields=["next_seq", "offset"])


def _changed_parts(lines: Sequence[Line], warned: bool) -> list[str]:
    parts = {PAGE_PARTS[type(line.record)] for line in lines if type(line.record) in PAGE_PARTS}
    return sorted(parts | {"state"} if warned else parts)


def _publish(run_uid: str, stored: StoredBatch | None, changed: Sequence[str]) -> None:
    if stored:
        live.publish_points(run_uid, stored.cursor, stored.points, stored.data, previous=stored.previous)
    for part in changed:
        live.publish_changed(run_uid, part)


def lock_run(run_id: int, durable: bool) -> None:
    """Lock the run for one writer, so that batch ids increase in commit order and summaries never race.

    Points read from a file need no fsync: if PostgreSQL crashes, offset and points are lost together, and a follower
    that continues from a byte beyond the database's offset is refused with OffsetMismatch.
    """
    with connection.cursor() as sql:
        if not durable:
            sql.execute("SET LOCAL synchronous_commit TO off")
        sql.execute("SELECT pg_advisory_xact_lock(hashtextextended('ingest', %s))", [run_id])
