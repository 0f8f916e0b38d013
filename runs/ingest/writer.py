"""One call, one transaction: the rows and how far the file is read are committed together, so nothing counts twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from django.db import connection, transaction

from runs.ingest.columnar import Columns
from runs.ingest.events import keep_alerts, keep_environment, keep_status, warn_of_broken, warn_of_gaps, warn_of_refused
from runs.ingest.limits import refusal
from runs.ingest.metrics import Stored, keep_points
from runs.ingest.response_rows import keep_checkpoints, keep_engines, keep_populations, keep_responses
from runs.metrics import block, live
from runs.models import Attempt, RecordFile
from workers.records import Alert, Broken, Checkpoint, Engines, Environment, Line, Metric, Population, Response, Status

# What a page is told to fetch again when records of a kind came in. Points travel by themselves.
TOLD = {
    Response: "responses",
    Population: "population",
    Engines: "engines",
    Checkpoint: "checkpoints",
    Status: "state",
    Alert: "state",
}


class Gap(Exception):
    """A push that leaves records out. `expected` is the seq to go on from."""

    def __init__(self, expected: int, got: int) -> None:
        super().__init__(f"The next record must have seq {expected}, not {got}: send from {expected} on")
        self.expected = expected
        self.got = got


class OffsetMoved(Exception):
    """The epoch's file has been read to byte `offset` by the database, not to where the caller believed it was.

    So it is where another follower was quicker, or where PostgreSQL crashed and lost what it had not flushed.
    """

    def __init__(self, key: str, epoch: int, offset: int, believed: int) -> None:
        super().__init__(f"records.{epoch}.jsonl of {key} is read to byte {offset}, not {believed}")
        self.offset = offset


@dataclass(frozen=True)
class PushResult:
    """A push brought so many new records; the next record must have the seq `next_seq`."""

    new: int
    next_seq: int


def push(attempt: Attempt, epoch: int, pushed: Sequence[Line] | Columns) -> PushResult:
    """Keeps what is not in the database yet of records that came over HTTP. Raises Gap where it leaves some out."""
    return _keep_columns(attempt, epoch, pushed) if isinstance(pushed, Columns) else _keep_lines(attempt, epoch, pushed)


def ingest(
    attempt: Attempt,
    epoch: int,
    lines: Sequence[Line],
    *,
    offset: int | None = None,
    since: int | None = None,
    broken: Sequence[Broken] = (),
) -> int:
    """Store the records that are not in the database yet and return how many those were. Call it twice, it acts once.

    With `offset` the lines come from the epoch's file, read up to that byte: a gap is stored with a warning, as are
    `broken` lines. Without, they were pushed, and a gap raises Gap. Raise OffsetMoved, and store nothing, where `since`
    is given and the database has not read the file to exactly that byte. After the commit pages are notified.
    """
    return _keep_lines(attempt, epoch, lines, offset, since, broken).new


def _keep_lines(
    attempt: Attempt,
    epoch: int,
    lines: Sequence[Line],
    offset: int | None = None,
    since: int | None = None,
    broken: Sequence[Broken] = (),
) -> PushResult:
    with transaction.atomic():
        lock(attempt.run_id, durable=offset is None or not all(isinstance(line.record, Metric) for line in lines))
        file, _ = RecordFile.objects.get_or_create(attempt=attempt, epoch=epoch)
        if since is not None and file.offset != since:
            raise OffsetMoved(attempt.key, epoch, file.offset, since)
        fresh = _fresh(lines, file.next_seq)
        _check_gaps(attempt, file, fresh, offset)
        kept = _kept(attempt, epoch, fresh)
        warn_of_broken(attempt, epoch, broken)
        stored = _keep(attempt, file, kept)
        _advance(file, fresh, offset)
        transaction.on_commit(partial(_tell, attempt.run.uid, stored, _kinds(kept, warned=len(fresh) > len(kept))))
    return PushResult(len(kept), file.next_seq)


def _keep_columns(attempt: Attempt, epoch: int, columns: Columns) -> PushResult:
    with transaction.atomic():
        lock(attempt.run_id, durable=True)
        file, _ = RecordFile.objects.get_or_create(attempt=attempt, epoch=epoch)
        if len(columns) and columns.first_seq > file.next_seq:
            raise Gap(file.next_seq, columns.first_seq)
        fresh = columns.since(file.next_seq)
        if len(fresh):
            stored = keep_points(attempt, epoch, (fresh.first_seq, fresh.next_seq - 1), fresh.points)
            file.next_seq = fresh.next_seq
            file.save(update_fields=["next_seq"])
            transaction.on_commit(partial(_tell, attempt.run.uid, stored, []))
    return PushResult(len(fresh), file.next_seq)


def _fresh(lines: Sequence[Line], next_seq: int) -> list[Line]:
    """Lines not seen before, by seq, each once."""
    return [line for _, line in sorted({line.seq: line for line in lines if line.seq >= next_seq}.items())]


def _check_gaps(attempt: Attempt, file: RecordFile, fresh: Sequence[Line], offset: int | None) -> None:
    expected = [file.next_seq, *(line.seq + 1 for line in fresh)]
    gaps = [(e, line.seq) for e, line in zip(expected, fresh, strict=False) if e != line.seq]
    if gaps and offset is None:
        raise Gap(*gaps[0])
    warn_of_gaps(attempt, file.epoch, gaps, offset or 0)


def _kept(attempt: Attempt, epoch: int, fresh: Sequence[Line]) -> list[Line]:
    """The lines within the limits; the others are told."""
    reasons = [(line, refusal(line)) for line in fresh]
    warn_of_refused(attempt, epoch, [(line.seq, why) for line, why in reasons if why])
    return [line for line, why in reasons if not why]


def _keep(attempt: Attempt, file: RecordFile, lines: Sequence[Line]) -> Stored | None:
    kinds = {type(line.record) for line in lines}
    if Population in kinds:
        keep_populations(attempt, file.epoch, lines)
    if Engines in kinds:
        keep_engines(attempt, file.epoch, lines)
    if Response in kinds:
        keep_responses(attempt, file.epoch, lines)
    if Checkpoint in kinds:
        keep_checkpoints(attempt, file.epoch, lines)
    if Alert in kinds:
        keep_alerts(attempt, lines)
    if Status in kinds:
        keep_status(attempt, lines)
    if Environment in kinds:
        keep_environment(attempt, file.epoch, lines)
    metrics = [(n.seq, n.t, n.record) for n in lines if isinstance(n.record, Metric)]
    if not metrics:
        return None
    points = block((t, record) for _, t, record in metrics)
    return keep_points(attempt, file.epoch, (metrics[0][0], metrics[-1][0]), points)


def _advance(file: RecordFile, fresh: Sequence[Line], offset: int | None) -> None:
    if fresh:
        file.next_seq = fresh[-1].seq + 1
    if offset is not None:
        file.offset = offset
    file.save(update_fields=["next_seq", "offset"])


def _kinds(lines: Sequence[Line], warned: bool) -> list[str]:
    told = {TOLD[type(line.record)] for line in lines if type(line.record) in TOLD}
    return sorted(told | {"state"} if warned else told)


def _tell(run_uid: str, stored: Stored | None, changed: Sequence[str]) -> None:
    if stored:
        live.publish_points(run_uid, stored.cursor, stored.points, stored.data, previous=stored.previous)
    for what in changed:
        live.publish_changed(run_uid, what)


def lock(run_id: int, durable: bool) -> None:
    """One writer a run at a time, so that batch ids grow in commit order and summaries never race.

    Points read from a file need no fsync: should PostgreSQL crash, offset and points are lost together, and whoever
    reads on from a byte that the database no longer knows is refused with OffsetMoved.
    """
    with connection.cursor() as sql:
        if not durable:
            sql.execute("SET LOCAL synchronous_commit TO off")
        sql.execute("SELECT pg_advisory_xact_lock(hashtextextended('ingest', %s))", [run_id])
