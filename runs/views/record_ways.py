"""By which way an attempt's records come into the database, and how old the newest of them is."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from runs.display import ago
from runs.models import Attempt, RecordFile
from workers.executors.mirror import Mirrored, mirrored


def with_ways(attempts: QuerySet[Attempt]) -> list[Attempt]:
    """The attempts, each with its sentence as `way`; empty before the first record, and of imported ones."""
    pushed = RecordFile.objects.filter(attempt=OuterRef("pk"), offset=0, next_seq__gt=0)
    found: list[Attempt] = list(attempts.annotate(is_pushed=Exists(pushed)))
    for attempt in found:
        attempt.way = _way(attempt, attempt.is_pushed)  # type: ignore[attr-defined]
    return found


def _way(attempt: Attempt, is_pushed: bool) -> str:
    if attempt.cluster is None or not attempt.submits:
        return ""
    copy = mirrored(attempt.directory)
    if is_pushed:
        said = gettext("Records are pushed here over HTTP.")
    elif copy is not None:
        said = gettext("Records are copied here over SSH from {cluster}.")
    elif attempt.cluster.kind == "local":
        said = gettext("Records are read from this machine's disk.")
    else:
        said = gettext("Records are read from the disk shared with {cluster}.")
    words: list[SafeString | str] = [format_html(said, cluster=attempt.cluster.name)]
    if attempt.is_open:
        words += [_age(attempt.directory), _copied(copy)]
    return format_html_join(" ", "{}", ([word] for word in words if word))


def _age(directory: Path) -> SafeString | str:
    times = [file.stat().st_mtime for file in directory.glob("records.*.jsonl")]
    return format_html(gettext("The newest came {when}."), when=_when(max(times))) if times else ""


def _copied(copy: Mirrored | None) -> SafeString | str:
    if copy is None or copy.seen_at is None:
        return ""
    said = format_html(gettext("The cluster was last asked {when}."), when=_when(copy.seen_at))
    return format_html("{} {}", said, gettext("More waits there to be brought.")) if copy.is_behind else said


def _when(seconds: float) -> str:
    return ago(datetime.fromtimestamp(seconds, UTC))
