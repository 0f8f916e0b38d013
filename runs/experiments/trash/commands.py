"""Archive experiments and runs, delete them to the trash, and restore them. The caller checks permissions.

Archived objects are left out of lists and keep their address. Deleted ones are in the trash, from which they can be
restored for 30 days; nothing of them is lost before.
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
Trashable = Experiment | Run
PURGE_BATCH_SIZE = 100


def archive(target: Trashable, person: User) -> None:
    """Remove the target from lists. Do nothing if it is archived already."""
    if target.archived_at is None:
        _set(target, archived_at=timezone.now(), archived_by=person)


def unarchive(target: Trashable) -> None:
    """Put the target back into lists."""
    _set(target, archived_at=None, archived_by=None)


def delete_run(run: Run, person: User) -> None:
    """Move a run to the trash and request its cancellation. Do nothing if it is in the trash already."""
    with transaction.atomic():
        cancel_run(run, person)
        _delete(run, person)


def delete_experiment(experiment: Experiment, person: User) -> None:
    """Move an experiment with its runs to the trash and request the cancellation of runs that have not finished."""
    with transaction.atomic():
        cancel_runs(experiment.runs.all(), person)
        _delete(experiment, person)


def restore(target: Trashable) -> None:
    """Take the target out of the trash, unchanged."""
    _set(target, deleted_at=None, deleted_by=None)


def archive_runs(runs: QuerySet[Run], person: User) -> list[int]:
    """Remove runs from lists. Return the ids of the runs that were in lists; the functions below return changed ids
    likewise."""
    ids = _ids(runs.filter(archived_at__isnull=True))
    _rows(ids).update(archived_at=timezone.now(), archived_by=person)
    return ids


def unarchive_runs(runs: QuerySet[Run]) -> list[int]:
    """Put runs back into lists."""
    ids = _ids(runs.filter(archived_at__isnull=False))
    _rows(ids).update(archived_at=None, archived_by=None)
    return ids


def delete_runs(runs: QuerySet[Run], person: User) -> list[int]:
    """Move runs to the trash and cancel those that have not finished. Return the ids of the moved runs."""
    with transaction.atomic():
        cancel_runs(runs, person)
        ids = _ids(runs.filter(deleted_at__isnull=True))
        _rows(ids).update(deleted_at=timezone.now(), deleted_by=person)
    return ids


def restore_runs(runs: QuerySet[Run]) -> list[int]:
    """Take runs out of the trash, unchanged."""
    ids = _ids(runs.filter(deleted_at__isnull=False))
    _rows(ids).update(deleted_at=None, deleted_by=None)
    return ids


def tag_runs(runs: QuerySet[Run], tag: str) -> list[int]:
    """Add a tag to runs, once each."""
    ids = _ids(runs.exclude(tags__contains=[tag]))
    _rows(ids).update(tags=Func(F("tags"), Value(tag), function="array_append"))
    return ids


def untag_runs(runs: QuerySet[Run], tag: str) -> list[int]:
    """Remove a tag from runs."""
    ids = _ids(runs.filter(tags__contains=[tag]))
    _rows(ids).update(tags=Func(F("tags"), Value(tag), function="array_remove"))
    return ids


def expired_runs() -> QuerySet[Run]:
    """Return the runs whose time in the trash is over, alone or with their experiment."""
    before = timezone.now() - timedelta(days=DAYS_IN_BIN)
    return Run.objects.filter(Q(deleted_at__lt=before) | Q(experiment__deleted_at__lt=before))


def purge_trash() -> None:
    """Delete for good the runs whose time in the trash is over, at most PURGE_BATCH_SIZE of them, and stop those that
    still run.

    A run whose files cannot be deleted stays in the trash and is logged.
    """
    for run in expired_runs().select_related("source", "external").order_by("pk")[:PURGE_BATCH_SIZE]:
        cancel_run(run)
        for rebuild in run.rebuilds.open():
            stop_rebuild(rebuild)
        try:
            purge_run(run)
        except OSError:
            log.exception("Trash: the files of run %s cannot be removed; retrying on the next purge", run.uid)
    purge_experiments()


def purge_run(run: Run) -> None:
    """Delete a run for good, files first: if interrupted, it is still in the trash and is deleted the next time.

    Do nothing if the run was restored meanwhile, or if an attempt or rebuild of it still runs. Raise OSError if its
    files cannot be deleted.
    """
    with transaction.atomic():
        locked = expired_runs().select_for_update(of=("self",), skip_locked=True).filter(pk=run.pk).first()
        if locked is None or locked.attempts.open().exists() or locked.rebuilds.open().exists():
            return
        if locked.root.exists():
            shutil.rmtree(locked.root)
        locked.delete()


def purge_experiments() -> None:
    """Delete for good the experiments whose time in the trash is over, and whose runs have been deleted."""
    before = timezone.now() - timedelta(days=DAYS_IN_BIN)
    Experiment.objects.filter(deleted_at__lt=before, runs=None).delete()


def _ids(runs: QuerySet[Run]) -> list[int]:
    return sorted(runs.order_by().values_list("pk", flat=True))


def _rows(ids: list[int]) -> QuerySet[Run]:
    return Run.objects.filter(pk__in=ids)


def _delete(target: Trashable, person: User) -> None:
    if target.deleted_at is None:
        _set(target, deleted_at=timezone.now(), deleted_by=person)


def _set(target: Trashable, **values: object) -> None:
    for name, value in values.items():
        setattr(target, name, value)
    target.save(update_fields=list(values))
