"""Who changed what of experiments and runs: names, questions, tags, notes. Kept in Django's own log of changes."""

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

READ_AT_MOST = 200
WORDS = {
    "is_private": _("who may see it"),
    "name": _("name"),
    "question": _("question"),
    "tags": _("tags"),
    "note": _("note"),
}


@dataclass(frozen=True)
class Edit:
    """What somebody changed of a thing, all together, and when they did so last. `run` is empty for an experiment."""

    experiment: int
    run: str
    who: str
    at: datetime
    fields: tuple[str, ...]


def change(thing: Experiment | Run, person: User, values: Mapping[str, Any]) -> None:
    """Gives the thing these values, and keeps which of them are new."""
    differing = [name for name, value in values.items() if getattr(thing, name) != value]
    for name, value in values.items():
        setattr(thing, name, value)
    thing.save(update_fields=list(values))
    keep(thing, person, differing)


def keep(thing: Experiment | Run, person: User, fields: Collection[str]) -> None:
    """Keeps that the person changed these fields; nothing where there are none."""
    if fields:
        what = [{"changed": {"fields": sorted(fields)}}]
        LogEntry.objects.log_actions(person.pk, [thing], CHANGE, change_message=what, single_object=True)


def since(at: datetime, experiments: QuerySet[Experiment], runs: QuerySet[Run]) -> list[Edit]:
    """The last edits of these, one a person and thing, the newest first. Two queries."""
    about = _about("experiment", experiments) | _about("run", runs)
    kept = LogEntry.objects.filter(about, action_flag=CHANGE, action_time__gte=at).order_by("-action_time")
    rows = kept.values_list("content_type__model", "object_id", "user__username", "action_time", "change_message")
    by_thing: dict[tuple[str, str, str], tuple[datetime, list[str]]] = {}
    for model, pk, who, moment, message in rows[:READ_AT_MOST]:
        _, fields = by_thing.setdefault((model, pk or "", who), (moment, []))
        fields += json.loads(message)[0]["changed"]["fields"]
    of = Run.objects.in_bulk([int(pk) for model, pk, _ in by_thing if model == "run"])
    return [_edit(of, *thing, *what) for thing, what in by_thing.items()]


def _about(model: str, things: QuerySet[Any]) -> Q:
    # By the name of the type: its id would be looked up first, and then not, as the process remembers it.
    ids = things.order_by().values_list(Cast("pk", TextField()))
    return Q(content_type__app_label="runs", content_type__model=model, object_id__in=ids)


def _edit(of: Mapping[int, Run], model: str, pk: str, who: str, at: datetime, fields: Collection[str]) -> Edit:
    words = tuple(WORDS.get(field, field) for field in dict.fromkeys(fields))
    if model == "experiment":
        return Edit(int(pk), "", who, at, words)
    run = of[int(pk)]
    return Edit(run.experiment_id, run.name, who, at, words)
