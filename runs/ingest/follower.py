"""Follow the record files of attempts, on this disk or one shared with a cluster.

Records of a run are in the database a fraction of a second after they are written.

Correctness does not depend on the follower's memory: the offset of each file is committed with the rows, and every
transaction checks that it continues from there. So a killed follower continues from its offset, two followers do no
harm, and rows that PostgreSQL loses in a crash are read again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerAway

from runs.enqueue import send
from runs.ingest.metrics import skip_batch_ids
from runs.ingest.writer import OffsetMismatch, ingest
from runs.metrics import live
from runs.models import Attempt, AttemptEvent, RecordFile
from workers.executors.mirror import read_state
from workers.executors.states import State
from workers.records import read, records_path

LOG_NOTICE_SECONDS = 1.0
RETRY_SECONDS = 10.0
MAX_PIECES_PER_LOOK = 8
# An attempt that ended without an exit record may still have a writer, which stops within a few heartbeats.
LINGER_SECONDS = 10.0
log = logging.getLogger(__name__)


def close_files(attempt: Attempt, ends: Mapping[int, int], cut_bytes: Mapping[int, int]) -> None:
    """Mark the attempt as drained.

    `ends`: epoch -> byte after the last whole line of its file; `cut_bytes`: epoch -> bytes after that, left by a kill.
    Raise OffsetMismatch if the database has not read a file to its end.
    """
    with transaction.atomic():
        offsets = dict(RecordFile.objects.filter(attempt=attempt).values_list("epoch", "offset"))
        for epoch, end in sorted(ends.items()):
            if (offset := offsets.get(epoch, 0)) != end:
                raise OffsetMismatch(attempt.key, epoch, offset, end)
        for epoch, size in sorted(cut_bytes.items()):
            message = f"The last line of records.{epoch}.jsonl was cut off after {size} bytes: one record is lost"
            AttemptEvent.objects.create(attempt=attempt, level="warning", why=message)
        Attempt.objects.filter(pk=attempt.pk).update(drained_at=timezone.now())


@dataclass
class FollowState:
    """State of an attempt that the follower remembers between two looks; a new one is filled from the database.

    `offsets` saves a query per look. It is not trusted: the database refuses records that do not continue from its own.
    """

    offsets: dict[int, int]
    log_size: int = -1
    log_published_at: float = 0.0
    has_ended: bool = False
    retry_at: float = 0.0
    over_since: float | None = None
    unfinished_epochs: set[int] = field(default_factory=set)


class Follower:
    """Reader of the files of every attempt that is not drained, once per call of `look`."""

    def __init__(self) -> None:
        self._states: dict[int, FollowState] = {}
        self._has_skipped_ids = False

    @property
    def is_following(self) -> bool:
        """Return whether the last look was at any attempt's files."""
        return bool(self._states)

    def look(self) -> int:
        """Store the new lines of all files and return their number.

        Errors of one attempt's files are logged and do not stop the others. Raise OperationalError or InterfaceError if
        the database is unreachable; after these and any other error, all remembered state is discarded and read from
        the database again.
        """
        try:
            if not self._has_skipped_ids:
                skip_batch_ids()
                self._has_skipped_ids = True
            attempts = list(_followed_attempts())
            self._states = {a.pk: self._states[a.pk] for a in attempts if a.pk in self._states}
            return sum(self._look_at(attempt) for attempt in attempts)
        except BaseException:
            self._states.clear()
            self._has_skipped_ids = False
            raise

    def _look_at(self, attempt: Attempt) -> int:
        if attempt.pk not in self._states:
            self._states[attempt.pk] = FollowState(_offsets(attempt))
        progress = self._states[attempt.pk]
        if progress.retry_at > time.monotonic():
            return 0
        try:
            return self._follow(attempt, progress)
        except (OperationalError, InterfaceError):
            raise
        except OffsetMismatch as moved:
            log.warning("Follower continues from the database's offset: %s", moved)
            self._states[attempt.pk] = FollowState(_offsets(attempt))
            return 0
        except Exception:
            log.exception("Follower cannot read the files of %s; retrying in %s s", attempt.key, RETRY_SECONDS)
            self._states[attempt.pk] = FollowState(_offsets(attempt), retry_at=time.monotonic() + RETRY_SECONDS)
            return 0

    def _follow(self, attempt: Attempt, progress: FollowState) -> int:
        lines = sum(_read_file(attempt, epoch, progress) for epoch in _epochs(attempt.directory))
        _publish_log(attempt, progress)
        _request_tick(attempt, progress)
        if _is_finished(attempt, progress) and not progress.unfinished_epochs:
            close_files(attempt, progress.offsets, _cut_bytes(attempt, progress))
        return lines


def _followed_attempts() -> Iterator[Attempt]:
    """Yield the undrained attempts that were submitted, oldest first."""
    attempts = Attempt.objects.undrained().exclude(state=State.CREATED.value)
    yield from attempts.select_related("run", "cluster").order_by("pk")


def _offsets(attempt: Attempt) -> dict[int, int]:
    return dict(RecordFile.objects.filter(attempt=attempt).values_list("epoch", "offset"))


def _epochs(directory: Path) -> list[int]:
    """Return the epochs that have a records file, in order."""
    names = (path.name.split(".")[1] for path in directory.glob("records.*.jsonl"))
    return sorted(int(name) for name in names if name.isdecimal())


def _read_file(attempt: Attempt, epoch: int, progress: FollowState) -> int:
    """Store the whole lines added to one file and return their number. A long file continues at the next look."""
    path, lines = records_path(attempt.directory, epoch), 0
    progress.unfinished_epochs.discard(epoch)
    for _ in range(MAX_PIECES_PER_LOOK):
        offset = progress.offsets.get(epoch, 0)
        piece = read(path, offset)
        if piece.next_offset == offset:
            return lines
        ingest(attempt, epoch, piece.lines, since=offset, offset=piece.next_offset, broken=piece.broken)
        progress.offsets[epoch] = piece.next_offset
        lines += len(piece.lines) + len(piece.broken)
    progress.unfinished_epochs.add(epoch)
    return lines


def _publish_log(attempt: Attempt, progress: FollowState) -> None:
    """Notify open pages that the log has grown, at most once a second."""
    size, now = _size(attempt.directory / "log.txt"), time.monotonic()
    if size != progress.log_size and now - progress.log_published_at >= LOG_NOTICE_SECONDS:
        progress.log_size, progress.log_published_at = size, now
        live.publish_changed(attempt.run.uid, "log")


def _request_tick(attempt: Attempt, progress: FollowState) -> None:
    """Request a tick as soon as a program has ended, since its slot is free for the next job."""
    if (
        progress.has_ended
        or attempt.cluster_id is None
        or State(attempt.state).is_final
        or not (attempt.directory / "exit.json").exists()
    ):
        return
    progress.has_ended = True
    try:
        send("tick_cluster", attempt.cluster_id, retry=False)
    except BrokerAway as error:
        log.warning("Follower cannot request a tick; the regular one follows: %s", error)


def _is_finished(attempt: Attempt, progress: FollowState) -> bool:
    """Return whether no more records will be written. The state was read before the files were."""
    if not State(attempt.state).is_final:
        return False
    copy = read_state(attempt.directory)
    if copy is not None and not (copy.is_settled or (attempt.directory / "exit.json").exists()):
        return False
    if not attempt.directory.exists() or (attempt.directory / "exit.json").exists():
        return True
    # `ended_at` is not used, because the machine's clock may be set meanwhile.
    progress.over_since = progress.over_since or time.monotonic()
    return time.monotonic() - progress.over_since > LINGER_SECONDS


def _cut_bytes(attempt: Attempt, progress: FollowState) -> dict[int, int]:
    tails = {e: _size(records_path(attempt.directory, e)) - offset for e, offset in progress.offsets.items()}
    return {epoch: size for epoch, size in tails.items() if size > 0}


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
