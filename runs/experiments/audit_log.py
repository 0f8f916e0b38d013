"""Record which user changed which fields of experiments and runs: names, questions, tags, notes. Stored in Django's own
log of changes."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.utils.translation import gettext_noop as _

from runs.models import Experiment, Run

MAX_ROWS = 200
FIELD_LABELS = {
    "is_private": _("visibility"),
    "name": _("name"),
    "question": _("question"),
    "tags": _("tags"),
    "note": _("note"),
}


@dataclass(frozen=True)
class Edit:
    """The fields that one user changed of one experiment or run, and the time of the last change. `run` is empty for an
    experiment."""

    experiment: int
    run: str
    who: str
    at: datetime
    fields: tuple[str, ...]


def change(target: Experiment | Run, person: User, values: Mapping[str, Any]) -> None:
    """Set these values on the target, and log the fields that changed."""
    changed_fields = [name for name, value in values.items() if getattr(target, name) != value]
    for name, value in values.items():
        setattr(target, name, value)
    target.save(update_fields=list(values))
    log_edit(target, person, changed_fields)


def log_edit(target: Experiment | Run, person: User, fields: Collection[str]) -> None:
    """Log that the user changed these fields; do nothing if there are none."""
    if fields:
        message = [{"changed": {"fields": sorted(fields)}}]
        LogEntry.objects.log_actions(person.pk, [target], CHANGE, change_message=message, single_object=True)


def edits_since(at: datetime, experiments: QuerySet[Experiment], runs: QuerySet[Run]) -> list[Edit]:
    """Return the latest edits of these experiments and runs, one per user and object, newest first. Two queries."""
    about = _about("experiment", experiments) | _about("run", runs)
    entries = LogEntry.objects.filter(about, action_flag=CHANGE, action_time__gte=at).order_by("-action_time")
    rows = entries.values_list("content_type__model", "object_id", "user__username", "action_time", "change_message")
    by_target: dict[tuple[str, str, str], tuple[datetime, list[str]]] = {}
    for model, pk, who, edited_at, message in rows[:MAX_ROWS]:
        _, fields = by_target.setdefault((model, pk or "", who), (edited_at, []))
        fields += json.loads(message)[0]["changed"]["fields"]
    runs_by_id = Run.objects.in_bulk([int(pk) for model, pk, _ in by_target if model == "run"])
    return [_edit(runs_by_id, *target, *edit) for target, edit in by_target.items()]


def _about(model: str, targets: QuerySet[Any]) -> Q:
    # By the name of the content type: its id would take a query the first time and none later, because Django caches
    # it.
    ids = targets.order_by().values_list(Cast("pk", TextField()))
    return Q(content_type__app_label="runs", content_type__model=model, object_id__in=ids)


def _edit(runs_by_id: Mapping[int, Run], model: str, pk: str, who: str, at: datetime, fields: Collection[str]) -> Edit:
    words = tuple(FIELD_LABELS.get(field, field) for field in dict.fromkeys(fields))
    if model == "experiment":
        return Edit(int(pk), "", who, at, words)
    run = runs_by_id[int(pk)]
    return Edit(run.experiment_id, run.name, who, at, words)
