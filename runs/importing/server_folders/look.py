"""Look at folders of this server that are due: import what has changed, and decide when to look again.

An import is safe to repeat, so a look that was killed is done again, and a look that happens twice changes nothing.
"""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from runs.access import may_manage_clusters
from runs.importing.budget import Budget
from runs.importing.run_import import ImportResult, import_runs
from runs.importing.scan import files_from_path
from runs.importing.schemas import ImportedOut
from runs.importing.server_folders.paths import resolve_path
from runs.importing.server_folders.survey import LOOK_SECONDS, survey
from runs.importing.store import ImportTarget
from runs.models import ServerFolder
from workers.config import ConfigError

LOOK_SHARE = 0.1
"""Share of the time that looks at a folder may take: after a long import, the next look is later."""
TURN_SECONDS = 20.0
"""Time after which a call begins no other look."""
UNCHANGED = timedelta(days=2)
"""A folder that has not changed for this long is followed no more."""
log = logging.getLogger(__name__)


def look_at_due_folders() -> int:
    """Look at the folders that are due, and return their number. After TURN_SECONDS the next call looks at the others:
    the time limit of the task is that of one import."""
    looks, end = 0, time.monotonic() + TURN_SECONDS
    while time.monotonic() < end and (folder := _claim()) is not None:
        looks += 1
        try:
            look_at(folder)
        except Exception:
            log.exception("Folder %s could not be imported", folder.path)
            _end(folder, "could not be imported because of an error of this site; its log names it")
    return looks


def look_at(folder: ServerFolder) -> ImportResult | None:
    """Import the folder if it has changed since the last look, and return the result. Set the time of the next look."""
    now = timezone.now()
    if not may_manage_clusters(folder.person):
        _end(folder, f"{folder.person.get_username()} is no admin any more")
        return None
    try:
        path = resolve_path(folder.cluster, folder.path)
    except ConfigError as error:
        _end(folder, "; ".join(problem.message for problem in error.problems))
        return None
    listed, imported = survey(path), None
    if listed.digest != folder.seen:
        imported = _import(folder, path)
        folder.seen, folder.changed_at = listed.digest, now
    folder.looked_at = now
    goes_on = folder.follows and listed.may_grow and not folder.ends_after(UNCHANGED)
    seconds = max(LOOK_SECONDS, (timezone.now() - now).total_seconds() / LOOK_SHARE)
    _save(folder, timezone.now() + timedelta(seconds=seconds) if goes_on else None)
    return imported


def _claim() -> ServerFolder | None:
    """Return a folder that is due, which nobody else takes before the longest import is over."""
    with transaction.atomic():
        due = ServerFolder.objects.due().select_for_update(skip_locked=True, of=("self",))
        folder = due.select_related("cluster", "person", "experiment").order_by("next_look_at").first()
        if folder is not None:
            folder.next_look_at = timezone.now() + timedelta(seconds=settings.IMPORT_SECONDS + 60)
            folder.save(update_fields=["next_look_at"])
        return folder


def _import(folder: ServerFolder, path: Path) -> ImportResult:
    target = ImportTarget(folder.person, folder.experiment_name, experiment=folder.experiment)
    if target.experiment is not None and target.experiment.deleted_at is not None:
        target.experiment = None
    with ExitStack() as stack:
        imported = import_runs(files_from_path(path, stack, Budget(), is_real=True), target)
    folder.result, folder.experiment = ImportedOut.from_row(imported).model_dump(mode="json"), imported.experiment
    return imported


def _end(folder: ServerFolder, problem: str) -> None:
    folder.problem, folder.looked_at = problem, timezone.now()
    _save(folder, None)


def _save(folder: ServerFolder, next_look_at: object) -> None:
    """Save the look, unless somebody has stopped the folder meanwhile: then no look follows."""
    ServerFolder.objects.filter(pk=folder.pk).update(
        seen=folder.seen, changed_at=folder.changed_at, looked_at=folder.looked_at, result=folder.result,
        experiment=folder.experiment, problem=folder.problem,
    )  # fmt: skip
    ServerFolder.objects.active().filter(pk=folder.pk).update(next_look_at=next_look_at)
