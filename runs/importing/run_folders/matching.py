"""Find the run that the folders of attempts belong to, among the runs that were imported from folders before."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from django.db.models import Q, QuerySet

from runs.importing.files import File
from runs.importing.run_folders.assemble import KIND
from runs.importing.run_folders.attempt_folder import AttemptFolder
from runs.importing.run_folders.own_files import details_digest
from runs.models import Import

PIECE = 1024 * 1024
MAX_FIRST_LINE = 1024 * 1024
NEW, SAME, LONGER, SHORTER, OTHER = "new", "same", "longer", "shorter", "other"
"""A records file compared with what was read of it before."""


@dataclass(frozen=True)
class Match:
    """An import that the folders belong to. files: (attempt, epoch) -> how its records compare with what was read.

    `has_more`: there is something to add. `differs`: records that were read before are other ones here.
    """

    row: Import
    files: dict[tuple[int, int], str]
    changed: frozenset[int] = frozenset()
    """Attempts with another config or end than was read."""

    @property
    def has_more(self) -> bool:
        return bool(self.changed - self.older) or any(state in (NEW, LONGER) for state in self.files.values())

    @property
    def older(self) -> frozenset[int]:
        """Return the attempts of which these folders are earlier copies: they hold less than was read."""
        return frozenset(n for (n, _), state in self.files.items() if state == SHORTER)

    @property
    def differs(self) -> bool:
        return OTHER in self.files.values()


class KnownFolders:
    """Earlier imports of run folders, compared with the attempts of one run. Raises OSError."""

    def __init__(self, uid: str, attempts: list[AttemptFolder], imports: QuerySet[Import]) -> None:
        self.uid, self._attempts = uid, attempts
        self._imports = imports.filter(kind=KIND).select_related("run__experiment")

    @cached_property
    def first_line(self) -> tuple[int, str]:
        """Return (bytes, sha256) of the first line of the first records, which no other run has: it has their time."""
        records = self._attempts[0].records
        return first_line(records[min(records)]) if records else (0, "")

    def find(self) -> Match | None:
        """Return the import that these attempts belong to; None if there is none."""
        size, sha256 = self.first_line
        same_uid = Q(foreign_uid=self.uid) if self.uid else Q(pk__in=())
        begins_alike = Q(bytes=size, sha256=sha256) if size else Q(pk__in=())
        rows = sorted(self._imports.filter(same_uid | begins_alike), key=lambda row: (row.sha256 != sha256, row.pk))
        return next((self._match(row) for row in rows), None)

    def _match(self, row: Import) -> Match:
        states: dict[tuple[int, int], str] = {}
        changed = set[int]()
        for attempt in self._attempts:
            known = row.files.get(str(attempt.n), {})
            if known.get("details") != details_digest(attempt):
                changed.add(attempt.n)
            for epoch, file in attempt.records.items():
                states[attempt.n, epoch] = _compare(file, known.get("records", {}).get(str(epoch)))
        return Match(row, states, frozenset(changed))


def _compare(file: File, known: list[int | str] | None) -> str:
    """Compare a file with what was read of it before: [bytes, sha256, sha256 of the first line]."""
    if known is None:
        return NEW
    size, sha256 = int(known[0]), str(known[1])
    if file.size < size:
        return SHORTER if first_line(file)[1] in ("", known[2]) else OTHER
    if digest_of(file, size) != sha256:
        return OTHER
    return SAME if file.size == size else LONGER


def first_line(file: File) -> tuple[int, str]:
    """Return (bytes, sha256) of the first line; (0, "") if the file has no whole line. Raise OSError."""
    line, end, _ = file.head(MAX_FIRST_LINE).partition(b"\n")
    return (len(line) + 1, hashlib.sha256(line + end).hexdigest()) if end else (0, "")


def digest_of(file: File, size: int) -> str:
    """Return the sha256 of the first `size` bytes. Raise OSError."""
    digest = hashlib.sha256()
    with file.open() as opened:
        while size > 0 and (piece := opened.read(min(PIECE, size))):
            digest.update(piece)
            size -= len(piece)
    return digest.hexdigest()
