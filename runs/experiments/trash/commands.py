"""Puts experiments and runs out of sight, into the bin, and back. Who may is for the caller to know.

Archived things are left out of lists, and still at their address. What is deleted lies in the bin, from where it can be
restored for 30 days; nothing of it is lost before.
"""

from __future__ import annotations

import logging
import shutil
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Func, Q, QuerySet, Value
from django.utils import timezone

from runs.launching import cancel_run, cancel_runs
from runs.launching.rebuilds import stop_rebuild
from runs.models import Experiment, Run
from runs.models.trash import DAYS_IN_BIN

log = logging.getLogger(__name__)
Thing = Experiment | Run
PURGED_AT_ONCE = 100


def archive(thing: Thing, person: User) -> None:
    """Takes it out of lists. Does nothing where it is out already."""
    if thing.archived_at is None:
        _set(thing, archived_at=timezone.now(), archived_by=person)


def unarchive(thing: Thing) -> None:
    """Puts it back into lists."""
    _set(thing, archived_at=None, archived_by=None)


def delete_run(run: Run, person: User) -> None:
    """Move a run to the trash and request its end. Do nothing if it lies there already."""
    with transaction.atomic():
        cancel_run(run, person)
        _delete(run, person)


def delete_experiment(experiment: Experiment, person: User) -> None:
    """Move an experiment with its runs to the trash and request the end of those that have not ended."""
    with transaction.atomic():
        cancel_runs(experiment.runs.all(), person)
        _delete(experiment, person)


def restore(thing: Thing) -> None:
    """Takes it out of the bin, as it was."""
    _set(thing, deleted_at=None, deleted_by=None)


def archive_runs(runs: QuerySet[Run], person: User) -> list[int]:
    """Takes runs out of lists. Gives the ids of those that were in them; so do the others here."""
    found = _ids(runs.filter(archived_at__isnull=True))
    _rows(found).update(archived_at=timezone.now(), archived_by=person)
    return found


def unarchive_runs(runs: QuerySet[Run]) -> list[int]:
    """Puts runs back into lists."""
    found = _ids(runs.filter(archived_at__isnull=False))
    _rows(found).update(archived_at=None, archived_by=None)
    return found


def delete_runs(runs: QuerySet[Run], person: User) -> list[int]:
    """Move runs to the trash and request the end of those that have not ended. Return the ids of those moved."""
    with transaction.atomic():
        cancel_runs(runs, person)
        found = _ids(runs.filter(deleted_at__isnull=True))
        _rows(found).update(deleted_at=timezone.now(), deleted_by=person)
    return found


def restore_runs(runs: QuerySet[Run]) -> list[int]:
    """Takes runs out of the bin, as they were."""
    found = _ids(runs.filter(deleted_at__isnull=False))
    _rows(found).update(deleted_at=None, deleted_by=None)
    return found


def tag_runs(runs: QuerySet[Run], tag: str) -> list[int]:
    """Gives runs a tag, once each."""
    found = _ids(runs.exclude(tags__contains=[tag]))
    _rows(found).update(tags=Func(F("tags"), Value(tag), function="array_append"))
    return found


def untag_runs(runs: QuerySet[Run], tag: str) -> list[int]:
    """Takes a tag from runs."""
    found = _ids(runs.filter(tags__contains=[tag]))
    _rows(found).update(tags=Func(F("tags"), Value(tag), function="array_remove"))
    return found


def expired_runs() -> QuerySet[Run]:
    """Runs whose time in the bin is over, alone or with their experiment."""
    before = timezone.now() - timedelta(days=DAYS_IN_BIN)
    return Run.objects.filter(Q(deleted_at__lt=before) | Q(experiment__deleted_at__lt=before))


def purge_trash() -> None:
    """Delete for good what has been in the trash for its time, at most a hundred runs. What still runs is stopped.

    A run whose files cannot be deleted stays in the trash and is logged.
    """
    for run in expired_runs().order_by("pk")[:PURGED_AT_ONCE]:
        cancel_run(run)
        for rebuild in run.rebuilds.open():
            stop_rebuild(rebuild)
        try:
            purge_run(run)
        except OSError:
            log.exception("The files of run %s cannot be removed: it stays in the bin", run.uid)
    purge_experiments()


def purge_run(run: Run) -> None:
    """Removes a run for good, files first: cut off in between it is still in the bin, and removed the next time.

    Does nothing where it was restored meanwhile, or something of it still runs. Raises OSError where its files stay.
    """
    with transaction.atomic():
        locked = expired_runs().select_for_update(of=("self",), skip_locked=True).filter(pk=run.pk).first()
        if locked is None or locked.attempts.open().exists() or locked.rebuilds.open().exists():
            return
        if locked.root.exists():
            shutil.rmtree(locked.root)
        locked.delete()


def purge_experiments() -> None:
    """Removes for good the experiments whose time in the bin is over, and whose runs have been removed."""
    before = timezone.now() - timedelta(days=DAYS_IN_BIN)
    Experiment.objects.filter(deleted_at__lt=before, runs=None).delete()


def _ids(runs: QuerySet[Run]) -> list[int]:
    return sorted(runs.order_by().values_list("pk", flat=True))


def _rows(found: list[int]) -> QuerySet[Run]:
    return Run.objects.filter(pk__in=found)


def _delete(thing: Thing, person: User) -> None:
    if thing.deleted_at is None:
        _set(thing, deleted_at=timezone.now(), deleted_by=person)


def _set(thing: Thing, **values: object) -> None:
    for name, value in values.items():
        setattr(thing, name, value)
    thing.save(update_fields=list(values))
