"""Puts experiments and runs out of sight, into the bin, and back. Who may is for the caller to know.

Archived things are left out of lists, and still at their address. What is deleted lies in the bin, from where it can be
restored for 30 days; nothing of it is lost before.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.utils import timezone

from runs.models import Experiment, Run

Thing = Experiment | Run


def archive(thing: Thing, person: User) -> None:
    """Takes it out of lists. Does nothing where it is out already."""
    if thing.archived_at is None:
        _set(thing, archived_at=timezone.now(), archived_by=person)


def unarchive(thing: Thing) -> None:
    """Puts it back into lists."""
    _set(thing, archived_at=None, archived_by=None)


def delete(thing: Thing, person: User) -> None:
    """Puts it into the bin. Does nothing where it lies there already. `jobs` ends what still runs of it."""
    if thing.deleted_at is None:
        _set(thing, deleted_at=timezone.now(), deleted_by=person)


def restore(thing: Thing) -> None:
    """Takes it out of the bin, as it was."""
    _set(thing, deleted_at=None, deleted_by=None)


def _set(thing: Thing, **values: object) -> None:
    for name, value in values.items():
        setattr(thing, name, value)
    thing.save(update_fields=list(values))
