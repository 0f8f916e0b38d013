"""Follows the files of attempts, here or on a disk shared with a cluster.

What a run writes is in the database a fraction of a second later.

Nothing here is needed to be right: how far each file is read is committed with the rows, and every transaction checks
that it goes on from there. So a follower that is killed anywhere goes on where it was, two of them do no harm, and what
PostgreSQL loses in a crash is read again.
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
from runs.ingest.writer import OffsetMoved, ingest
from runs.metrics import live
from runs.models import Attempt, AttemptEvent, RecordFile
from workers.executors.mirror import mirrored
from workers.executors.states import State
from workers.records import read, records_path

LOG_TOLD_SECONDS = 1.0
SULK_SECONDS = 10.0
PIECES_A_PASS = 8
# An attempt that ended without an exit record may have a writer left, which stops within a few heartbeats.
LINGER_SECONDS = 10.0
log = logging.getLogger(__name__)


def close_files(attempt: Attempt, ends: Mapping[int, int], cut_off: Mapping[int, int]) -> None:
    """Mark the attempt as drained.

    `ends`: epoch -> byte after the last whole line of its file; `cut_off`: epoch -> bytes after that, left by a kill.
    Raise OffsetMoved where the database has not read a file to its end.
    """
    with transaction.atomic():
        offsets = dict(RecordFile.objects.filter(attempt=attempt).values_list("epoch", "offset"))
        for epoch, end in sorted(ends.items()):
            if (offset := offsets.get(epoch, 0)) != end:
                raise OffsetMoved(attempt.key, epoch, offset, end)
        for epoch, size in sorted(cut_off.items()):
            why = f"The last line of records.{epoch}.jsonl was cut off after {size} bytes: one record is lost"
            AttemptEvent.objects.create(attempt=attempt, level="warning", why=why)
        Attempt.objects.filter(pk=attempt.pk).update(drained_at=timezone.now())


@dataclass
class Progress:
    """The follower remembers this of an attempt between two looks; a new one is filled from the database.

    `offsets` spares a query a look. It is never trusted: the database refuses what does not go on from its own.
    """

    offsets: dict[int, int]
    log_size: int = -1
    log_told_at: float = 0.0
    ended: bool = False
    sulks_until: float = 0.0
    over_since: float | None = None
    behind: set[int] = field(default_factory=set)


class Follower:
    """Looks at every attempt that is not drained, once a call of `look`."""

    def __init__(self) -> None:
        self._known: dict[int, Progress] = {}
        self._has_skipped_ids = False

    def look(self) -> int:
        """Store what the files hold and return how many lines that were.

        Errors of one attempt's files are logged and do not keep it from the others. Raise OperationalError or
        InterfaceError where the database is away; after that, and after any other error, everything remembered is
        forgotten and read from the database again.
        """
        try:
            if not self._has_skipped_ids:
                skip_batch_ids()
                self._has_skipped_ids = True
            attempts = list(_followed())
            self._known = {a.pk: self._known[a.pk] for a in attempts if a.pk in self._known}
            return sum(self._look_at(attempt) for attempt in attempts)
        except BaseException:
            self._known.clear()
            self._has_skipped_ids = False
            raise

    def _look_at(self, attempt: Attempt) -> int:
        if attempt.pk not in self._known:
            self._known[attempt.pk] = Progress(_offsets(attempt))
        progress = self._known[attempt.pk]
        if progress.sulks_until > time.monotonic():
            return 0
        try:
            return self._bring_in(attempt, progress)
        except (OperationalError, InterfaceError):
            raise
        except OffsetMoved as moved:
            log.warning("%s: reading on from there", moved)
            self._known[attempt.pk] = Progress(_offsets(attempt))
            return 0
        except Exception:
            log.exception("The files of %s cannot be followed; trying again in %s s", attempt.key, SULK_SECONDS)
            self._known[attempt.pk] = Progress(_offsets(attempt), sulks_until=time.monotonic() + SULK_SECONDS)
            return 0

    def _bring_in(self, attempt: Attempt, progress: Progress) -> int:
        lines = sum(_read_on(attempt, epoch, progress) for epoch in _epochs(attempt.directory))
        _tell_of_log(attempt, progress)
        _tell_of_end(attempt, progress)
        if _is_over(attempt, progress) and not progress.behind:
            close_files(attempt, progress.offsets, _cut_off(attempt, progress))
        return lines


def _followed() -> Iterator[Attempt]:
    """Undrained attempts that were submitted, oldest first."""
    attempts = Attempt.objects.undrained().exclude(state=State.CREATED.value)
    yield from attempts.select_related("run", "cluster").order_by("pk")


def _offsets(attempt: Attempt) -> dict[int, int]:
    return dict(RecordFile.objects.filter(attempt=attempt).values_list("epoch", "offset"))


def _epochs(directory: Path) -> list[int]:
    """Epochs that have a records file, in order."""
    names = (path.name.split(".")[1] for path in directory.glob("records.*.jsonl"))
    return sorted(int(name) for name in names if name.isdecimal())


def _read_on(attempt: Attempt, epoch: int, progress: Progress) -> int:
    """Brings in the whole lines added to one file and returns how many; a long one goes on at the next look."""
    path, lines = records_path(attempt.directory, epoch), 0
    progress.behind.discard(epoch)
    for _ in range(PIECES_A_PASS):
        offset = progress.offsets.get(epoch, 0)
        piece = read(path, offset)
        if piece.next_offset == offset:
            return lines
        ingest(attempt, epoch, piece.lines, since=offset, offset=piece.next_offset, broken=piece.broken)
        progress.offsets[epoch] = piece.next_offset
        lines += len(piece.lines) + len(piece.broken)
    progress.behind.add(epoch)
    return lines


def _tell_of_log(attempt: Attempt, progress: Progress) -> None:
    """Tells open pages that the log has grown, at most once a second."""
    size, now = _size(attempt.directory / "log.txt"), time.monotonic()
    if size != progress.log_size and now - progress.log_told_at >= LOG_TOLD_SECONDS:
        progress.log_size, progress.log_told_at = size, now
        live.publish_changed(attempt.run.uid, "log")


def _tell_of_end(attempt: Attempt, progress: Progress) -> None:
    """Asks for a tick as soon as a program has ended: its slot is free for the next."""
    if (
        progress.ended
        or attempt.cluster_id is None
        or State(attempt.state).is_final
        or not (attempt.directory / "exit.json").exists()
    ):
        return
    progress.ended = True
    try:
        send("tick_cluster", attempt.cluster_id, retry=False)
    except BrokerAway as error:
        log.warning("No tick was asked for, the regular one comes later: %s", error)


def _is_over(attempt: Attempt, progress: Progress) -> bool:
    """True where nothing more will be written. The state was read before the files were."""
    if not State(attempt.state).is_final:
        return False
    copy = mirrored(attempt.directory)
    if copy is not None and not (copy.is_settled or (attempt.directory / "exit.json").exists()):
        return False
    if not attempt.directory.exists() or (attempt.directory / "exit.json").exists():
        return True
    # Not since `ended_at`: the machine's date may be set while it waits.
    progress.over_since = progress.over_since or time.monotonic()
    return time.monotonic() - progress.over_since > LINGER_SECONDS


def _cut_off(attempt: Attempt, progress: Progress) -> dict[int, int]:
    tails = {e: _size(records_path(attempt.directory, e)) - offset for e, offset in progress.offsets.items()}
    return {epoch: size for epoch, size in tails.items() if size > 0}


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
