"""Notes of runs and experiments that others changed since a user last marked notes as read.

The log of changes holds who changed a note and when, the user's preferences up to when they have read notes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, F, Q, QuerySet, TextField, Window
from django.db.models.functions import Cast
from django.utils import timezone

from runs.experiments.home.sections import home_runs
from runs.models import Experiment, Preference, Run

MAX_NOTES = 8
MAX_TEXT = 600
"""Characters of a note that the panel shows at most; it shows three lines of them."""
UNDO_PERIOD = timedelta(minutes=10)


@dataclass(frozen=True)
class Note:
    """A changed note, or the changed question of an experiment: who changed it and when, and how it begins now."""

    target: Run | Experiment
    who: str
    at: datetime
    text: str
    is_question: bool

    @property
    def experiment(self) -> Experiment | None:
        """Return the experiment of a run's note; None for an experiment's own."""
        return self.target.experiment if isinstance(self.target, Run) else None


@dataclass(frozen=True)
class Notes:
    """Unread notes, the newest first; `total` counts those that are not shown too. `until` is the time of the newest.

    `undo`: time up to which the user has just marked notes as read, None if they have not. `is_shown`: whether others
    have ever changed a note that this user may read.
    """

    unread: list[Note]
    total: int
    until: datetime | None
    undo: datetime | None
    is_shown: bool


def unread_notes(person: User) -> Notes:
    """Return the notes that others changed since the user's last mark, or since their account exists.

    At most four queries; one more if there is none and the user has never marked any.
    """
    preference = Preference.objects.filter(person=person).first() or Preference(person=person)
    until = preference.notes_read_at or person.date_joined
    rows = list(_edits_by_others(person, Q(action_time__gt=until)).annotate(total=Window(Count("pk")))[:MAX_NOTES])
    runs = Run.objects.select_related("experiment").in_bulk(_ids(rows, "run"))
    experiments = Experiment.objects.in_bulk(_ids(rows, "experiment"))
    unread = [_note(row, runs if _is_about(row, "run") else experiments) for row in rows]
    marked_at = preference.notes_marked_at
    is_recent = marked_at is not None and timezone.now() - marked_at < UNDO_PERIOD
    return Notes(
        [note for note in unread if note is not None], rows[0].total if rows else 0,
        rows[0].action_time if rows else None, until if is_recent and not rows else None,
        bool(rows) or preference.notes_read_at is not None or _edits_by_others(person, Q()).exists(),
    )  # fmt: skip


@transaction.atomic
def mark_as_read(person: User, until: datetime) -> None:
    """Mark all notes as read that were changed up to this time, or up to now if that is in the future. Do nothing if
    they are read already."""
    Preference.objects.get_or_create(person=person)
    preference, now = Preference.objects.select_for_update().get(person=person), timezone.now()
    if until <= (preference.notes_read_at or person.date_joined):
        return
    preference.notes_read_before_at, preference.notes_read_at = preference.notes_read_at, min(until, now)
    preference.notes_marked_at = now
    preference.save()


def undo_mark(person: User, until: datetime) -> None:
    """Undo the mark up to this time, so that the time before it applies again. Do nothing if it is not the last."""
    marked = Preference.objects.filter(person=person, notes_read_at=until, notes_marked_at__isnull=False)
    marked.update(notes_read_at=F("notes_read_before_at"), notes_read_before_at=None, notes_marked_at=None)


def _edits_by_others(person: User, period: Q) -> QuerySet[LogEntry]:
    """Return the newest change in the period of each note that is visible and not empty, unless it is the user's."""
    experiments = Experiment.objects.visible_to(person).current()
    changed = _changed("note", "run", home_runs(person, own_only=False)) | _changed("note", "experiment", experiments)
    changed |= _changed("question", "experiment", experiments)
    edits = LogEntry.objects.filter(period, changed, action_flag=CHANGE)
    newest = edits.order_by("content_type", "object_id", "-pk").distinct("content_type", "object_id")
    others = LogEntry.objects.filter(pk__in=newest.values("pk")).exclude(user=person)
    return others.select_related("user", "content_type").order_by("-action_time", "-pk")


def _changed(field: str, model: str, targets: QuerySet[Any]) -> Q:
    """Return the condition that an entry is about a change of this field of one of the targets where it is not empty
    now."""
    ids = targets.exclude(**{field: ""}).order_by().values_list(Cast("pk", TextField()))
    about = Q(content_type__app_label="runs", content_type__model=model, object_id__in=ids)
    return about & Q(change_message__contains=f'"{field}"')


def _is_about(row: LogEntry, model: str) -> bool:
    return row.content_type is not None and row.content_type.model == model


def _ids(rows: Sequence[LogEntry], model: str) -> list[int]:
    return [int(row.object_id or 0) for row in rows if _is_about(row, model)]


def _note(row: LogEntry, targets: Mapping[int, Run | Experiment]) -> Note | None:
    """Return the note that an entry is about, or None if its row was deleted meanwhile."""
    target = targets.get(int(row.object_id or 0))
    if target is None:
        return None
    fields = json.loads(row.change_message)[0]["changed"]["fields"]
    is_question = isinstance(target, Experiment) and not ("note" in fields and target.note)
    text = target.question if isinstance(target, Experiment) and is_question else target.note
    lines = "\n".join(line for line in text[:MAX_TEXT].splitlines() if line.strip())
    return Note(target, row.user.get_username(), row.action_time, lines, is_question)
