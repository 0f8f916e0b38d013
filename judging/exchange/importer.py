"""Import files of judgments as verdicts of a tournament, and report the result of each file.

Importing the same file twice changes nothing; a file that has grown adds its new rows. If an import fails midway,
nothing is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count, islice
from typing import BinaryIO

from django.db import connection, transaction
from django.utils import timezone

from judging.exchange.files import FILE_AT_MOST, MB, rows
from judging.exchange.store import Keeper
from judging.exchange.target import ImportTarget, tournament_at
from judging.models import JudgmentFile, Tournament
from judging.stats.votes import Problem, each

AT_ONCE = 5000
SHOWN = 100
"""A report lists at most this many problems of a file, and counts all of them."""
JUDGMENTS_AT_MOST = 1_000_000
NAME_AT_MOST = 200


@dataclass(frozen=True)
class File:
    """File to read from its beginning. At most `unpacked_at_most` bytes of a compressed file are decompressed."""

    name: str
    content: BinaryIO
    unpacked_at_most: int = FILE_AT_MOST


@dataclass
class FileReport:
    """Result of importing one file.

    read: judgments that were understood. made, changed: new and changed verdicts, without those that were stored
    already. alone: judgments that name no prompt; each counts as on a prompt of its own. problems: the first SHOWN of
    the `not_read` rows. repeated: the first SHOWN of the `duplicates`, rows that only repeat an earlier row.
    """

    name: str
    read: int = 0
    made: int = 0
    changed: int = 0
    alone: int = 0
    not_read: int = 0
    problems: list[str] = field(default_factory=list)
    duplicates: int = 0
    repeated: list[str] = field(default_factory=list)

    def refuse(self, problem: Problem) -> None:
        """Count a row that was not understood, and record its problem."""
        self.not_read += 1
        if len(self.problems) < SHOWN:
            self.problems.append(str(problem))


@dataclass
class ImportResult:
    """Result of an import. tournament: None if no file contains a readable judgment and none existed before."""

    tournament: Tournament | None
    is_new: bool
    files: list[FileReport]

    @property
    def is_empty(self) -> bool:
        """Return whether no file held any judgment that could be read."""
        return not any(one.read for one in self.files)

    @property
    def sentence(self) -> str:
        """Return a summary of all files as one sentence."""
        read, made, changed, not_read, duplicates = (
            sum(getattr(one, what) for one in self.files)
            for what in ("read", "made", "changed", "not_read", "duplicates")
        )
        where = "" if self.tournament is None else f" in {self.tournament.name}"
        parts = [f"{_many(read, 'judgment')} read{where}: {made} new"]
        parts += [f"{changed} changed"] if changed else []
        parts += [f"{read - made - changed} known already"] if read > made + changed else []
        parts += [_many(duplicates, "duplicate")] if duplicates else []
        parts += [f"{_many(not_read, 'row')} not understood"] if not_read else []
        return "; ".join(parts) + "."


@transaction.atomic
def bring_in(files: Sequence[File], place: ImportTarget) -> ImportResult:
    """Read the files in order and store their judgments."""
    tournament, is_new = tournament_at(place, [one.name for one in files])
    # One of answers that are here takes no contestants, prompts and criteria from files.
    is_open = is_new or tournament.judgment_files.exists()
    told = [_file(one, Keeper(tournament, is_open=is_open), place) for one in files]
    if is_new and ImportResult(None, is_new, told).is_empty:
        tournament.delete()
        return ImportResult(None, False, told)
    if any(one.made or one.changed for one in told):
        # What is closed for long has boards that nobody works out again.
        Tournament.objects.filter(pk=tournament.pk, closed_at__isnull=False).update(closed_at=timezone.now())
    return ImportResult(tournament, is_new, told)


def _file(file: File, keeper: Keeper, place: ImportTarget) -> FileReport:
    told = FileReport(file.name[-NAME_AT_MOST:])
    digest = _digest(file.content)
    said = each(rows(file.content, told.name, file.unpacked_at_most))
    for number in count(1):
        if not (block := list(islice(said, AT_ONCE))):
            break
        _block(block, keeper, told)
        if len(block) == AT_ONCE and number.bit_count() == 1:
            _count_anew()
        if told.read >= JUDGMENTS_AT_MOST and next(said, None) is not None:
            most = f"has more than {JUDGMENTS_AT_MOST} judgments: the rest is not read"
            told.refuse(Problem(told.name, most))
            break
    if told.read:
        _note(keeper.tournament, told, digest, place)
    return told


def _digest(content: BinaryIO) -> str:
    digest = sha256()
    while piece := content.read(MB):
        digest.update(piece)
    content.seek(0)
    return digest.hexdigest()


def _block(block: Iterable[tuple[str, object]], keeper: Keeper, told: FileReport) -> None:
    kept = keeper.keep(block)  # type: ignore[arg-type]
    told.read += kept.read
    told.made += kept.made
    told.changed += kept.changed
    told.alone += kept.alone
    told.duplicates += len(kept.duplicates)
    told.repeated += map(str, kept.duplicates[: SHOWN - len(told.repeated)])
    for problem in kept.problems:
        told.refuse(problem)


def _count_anew() -> None:
    """Update the database's statistics of the tables; `_file` calls this each time that the rows have doubled.

    Until its own next update, the database plans queries for the earlier, smaller number of rows, and computing a board
    takes minutes.
    """
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE judging_verdict, judging_comparison, judging_chosenprompt, judging_judge, runs_prompt")


def _note(tournament: Tournament, told: FileReport, digest: str, place: ImportTarget) -> None:
    said = {
        "name": told.name, "read": told.read, "made": told.made, "changed": told.changed, "alone": told.alone,
        "not_read": told.not_read, "problems": told.problems, "by": place.owner,
    }  # fmt: skip
    JudgmentFile.objects.get_or_create(tournament=tournament, sha256=digest, defaults=said)


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
