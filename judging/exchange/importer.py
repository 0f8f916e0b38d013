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

from judging.exchange.files import MAX_FILE_BYTES, MB, read_rows
from judging.exchange.store import JudgmentImporter
from judging.exchange.target import ImportTarget, find_or_create_tournament
from judging.models import JudgmentFile, Tournament
from judging.stats.votes import Problem, parse_rows

BATCH_SIZE = 5000
MAX_LISTED = 100
"""A report lists at most this many problems of a file, and counts all of them."""
MAX_JUDGMENTS = 1_000_000
MAX_NAME_LENGTH = 200


@dataclass(frozen=True)
class File:
    """File to read from its beginning. At most `max_unpacked_bytes` bytes of a compressed file are decompressed."""

    name: str
    content: BinaryIO
    max_unpacked_bytes: int = MAX_FILE_BYTES


@dataclass
class FileReport:
    """Result of importing one file.

    read: judgments that were understood. made, changed: new and changed verdicts, without those that were already
    stored. alone: judgments that name no prompt; each counts as on a prompt of its own. problems: the first
    MAX_LISTED of the `not_read` rows. repeated: the first MAX_LISTED of the `duplicates`, rows that only repeat an
    earlier row.
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
        if len(self.problems) < MAX_LISTED:
            self.problems.append(str(problem))


@dataclass
class ImportResult:
    """Result of an import. tournament: None if no file contains a readable judgment and none existed before."""

    tournament: Tournament | None
    is_new: bool
    files: list[FileReport]

    @property
    def is_empty(self) -> bool:
        """Return whether no file contains a readable judgment."""
        return not any(report.read for report in self.files)

    @property
    def sentence(self) -> str:
        """Return a summary of all files as one sentence."""
        read, made, changed, not_read, duplicates = (
            sum(getattr(report, name) for report in self.files)
            for name in ("read", "made", "changed", "not_read", "duplicates")
        )
        destination = "" if self.tournament is None else f" in {self.tournament.name}"
        parts = [f"{_count_noun(read, 'judgment')} read{destination}: {made} new"]
        parts += [f"{changed} changed"] if changed else []
        parts += [f"{read - made - changed} already stored"] if read > made + changed else []
        parts += [_count_noun(duplicates, "duplicate")] if duplicates else []
        parts += [_count_noun(not_read, "invalid row")] if not_read else []
        return "; ".join(parts) + "."


@transaction.atomic
def import_judgment_files(files: Sequence[File], target: ImportTarget) -> ImportResult:
    """Read the files in order and store their judgments."""
    tournament, is_new = find_or_create_tournament(target, [file.name for file in files])
    # A tournament of responses in this database takes no contestants, prompts or criteria from files.
    is_open = is_new or tournament.judgment_files.exists()
    reports = [_import_file(file, JudgmentImporter(tournament, is_open=is_open), target) for file in files]
    if is_new and ImportResult(None, is_new, reports).is_empty:
        tournament.delete()
        return ImportResult(None, False, reports)
    if any(report.made or report.changed for report in reports):
        # Boards of tournaments closed long ago are not updated, so the closing time is renewed.
        Tournament.objects.filter(pk=tournament.pk, closed_at__isnull=False).update(closed_at=timezone.now())
    return ImportResult(tournament, is_new, reports)


def _import_file(file: File, store: JudgmentImporter, target: ImportTarget) -> FileReport:
    report = FileReport(file.name[-MAX_NAME_LENGTH:])
    digest = _digest(file.content)
    entries = parse_rows(read_rows(file.content, report.name, file.max_unpacked_bytes))
    for number in count(1):
        if not (block := list(islice(entries, BATCH_SIZE))):
            break
        _save_block(block, store, report)
        if len(block) == BATCH_SIZE and number.bit_count() == 1:
            _analyze_tables()
        if report.read >= MAX_JUDGMENTS and next(entries, None) is not None:
            message = f"has more than {MAX_JUDGMENTS} judgments: the rest is not read"
            report.refuse(Problem(report.name, message))
            break
    if report.read:
        _record_file(store.tournament, report, digest, target)
    return report


def _digest(content: BinaryIO) -> str:
    digest = sha256()
    while piece := content.read(MB):
        digest.update(piece)
    content.seek(0)
    return digest.hexdigest()


def _save_block(block: Iterable[tuple[str, object]], store: JudgmentImporter, report: FileReport) -> None:
    stored = store.save(block)  # type: ignore[arg-type]
    report.read += stored.read
    report.made += stored.created
    report.changed += stored.changed
    report.alone += stored.alone
    report.duplicates += len(stored.duplicates)
    report.repeated += map(str, stored.duplicates[: MAX_LISTED - len(report.repeated)])
    for problem in stored.problems:
        report.refuse(problem)


def _analyze_tables() -> None:
    """Update the database's statistics of the tables. `_import_file` calls this each time the rows have doubled.

    Until its own next update, the database plans queries for the earlier, smaller number of rows, and computing a board
    takes minutes.
    """
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE judging_verdict, judging_comparison, judging_chosenprompt, judging_judge, runs_prompt")


def _record_file(tournament: Tournament, report: FileReport, digest: str, target: ImportTarget) -> None:
    fields = {
        "name": report.name, "read": report.read, "made": report.made, "changed": report.changed, "alone": report.alone,
        "not_read": report.not_read, "problems": report.problems, "by": target.owner,
    }  # fmt: skip
    JudgmentFile.objects.get_or_create(tournament=tournament, sha256=digest, defaults=fields)


def _count_noun(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
