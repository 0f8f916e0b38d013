"""Measure the disk space of runs, and delete what a user no longer needs of one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from runs import access
from runs.launching.rebuilds import delete_rebuild
from runs.launching.storage.inventory import Part, StoredWeights, bytes_of, stored_weights
from runs.models import Attempt, DiskUse, Origin, Rebuild, Run
from workers.checkpoint_folders import CHECKPOINTS, REBUILT, TRAINER, delete_unread

MEASURED_AT_ONCE = 100
OPEN_INTERVAL = timedelta(minutes=10)
"""Time after which a run that has not ended is measured again."""


class CannotFree(ValueError):
    """Error for a run of which nothing can be deleted now. The message is the reason."""


@dataclass(frozen=True)
class Freed:
    """Bytes that were deleted, and a sentence for each checkpoint that stays."""

    bytes: int
    refusals: list[str]


def free_refusal(run: Run) -> str:
    """Return why nothing of the run can be deleted now; an empty text if it can."""
    if run.is_open or run.waits_to_restart or run.attempts.open().exists():
        return gettext("The run has not ended, and its trainer may need what is on disk.")
    if run.rebuilds.open().exists():
        return gettext("A checkpoint of the run is being rebuilt.")
    return ""


def free(run: Run, person: User, parts: Collection[Part]) -> Freed:
    """Delete these parts of an ended run's weights, except what another run or a job needs. Log it, and measure again.

    Weights go with their trainer's state. Raise CannotFree and OSError.
    """
    parts = {*parts, *([Part.STATES] if Part.WEIGHTS in parts else [])}
    with transaction.atomic():
        # No attempt is created meanwhile.
        run = Run.objects.select_for_update().get(pk=run.pk)
        if refusal := free_refusal(run):
            raise CannotFree(refusal)
        chosen = [weights for weights in stored_weights(run) if weights.part in parts]
        refusals = {weights.folder: refusal for weights in chosen if (refusal := _needed_by(run, weights))}
        deleted = []
        for weights in chosen:
            if weights.folder in refusals:
                continue
            if _delete(run, weights):
                deleted.append(weights)
            else:
                message = gettext("Step %(step)s stays: a job reads it.")
                refusals[weights.folder] = message % {"step": weights.step}
        size = sum(weights.bytes for weights in deleted)
        if deleted:
            steps = ", ".join(f"{weights.part.value} {weights.step}" for weights in deleted)
            access.note(person, run, f"freed {size} bytes on disk: {steps}")
    measure(run)
    return Freed(size, [*refusals.values()])


def measure(run: Run) -> DiskUse:
    """Store what the run's files take now, and return it."""
    use = measured(run)
    use.save()
    return use


def measured(run: Run) -> DiskUse:
    """Return what the run's files take now, without storing it."""
    weights = stored_weights(run)
    rebuildable = sum(stored.bytes for stored in weights if stored.part == Part.REBUILDABLE)
    other = sum(stored.bytes for stored in weights) - rebuildable
    return DiskUse(
        run=run, total_bytes=bytes_of(run), rebuildable_bytes=rebuildable, other_bytes=other, measured_at=timezone.now()
    )


def measure_changed() -> int:
    """Measure runs whose files may have changed since they were measured, at most MEASURED_AT_ONCE. Return their
    number."""
    here = Attempt.objects.filter(run=OuterRef("pk")).exclude(origin=Origin.EXTERNAL)
    ended = {"run": OuterRef("pk"), "ended_at__gt": OuterRef("disk_use__measured_at")}
    has_ended = Exists(Attempt.objects.filter(**ended)) | Exists(Rebuild.objects.filter(**ended))
    is_old = Q(disk_use__measured_at__lt=timezone.now() - OPEN_INTERVAL)
    due = Run.objects.filter(Exists(here)).filter(
        Q(disk_use=None) | Q(pk__in=Run.objects.open()) & is_old | Q(has_ended)
    )
    chosen = list(due.order_by(F("disk_use__measured_at").asc(nulls_first=True), "-pk")[:MEASURED_AT_ONCE])
    for run in chosen:
        measure(run)
    return len(chosen)


def _needed_by(run: Run, weights: StoredWeights) -> str:
    """Return why a checkpoint that nothing rebuilds must stay; an empty text if it need not."""
    if weights.part != Part.WEIGHTS:
        return ""
    named = Run.objects.filter(config__model__path=f"run:{run.uid}@{weights.step}", deleted_at=None).count()
    if not named:
        return ""
    message = ngettext(
        "Step %(step)s stays: %(n)s run has it as its model.",
        "Step %(step)s stays: %(n)s runs have it as their model.",
        named,
    )  # fmt: skip
    return message % {"step": weights.step, "n": named}


def _delete(run: Run, weights: StoredWeights) -> bool:
    """Delete weights, with the row of a rebuild. Return False if a job reads them. Raise OSError."""
    if weights.part == Part.STATES:
        return delete_unread(weights.folder.parent, TRAINER)
    if weights.folder.parent.name in (CHECKPOINTS, REBUILT):
        return delete_unread(weights.folder)
    for rebuild in run.rebuilds.select_related("run").filter(key=weights.folder.parent.name):
        delete_rebuild(rebuild)
    return True
