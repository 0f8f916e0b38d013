"""Dismiss flags, undo that, and change thresholds. The caller checks permissions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from runs import access
from runs.flags.peers import checked_peers
from runs.ingest.storable import storable
from runs.models import Experiment, Flag, FlagCheck, FlagDismissal, FlagThresholds, mark_flag_checks_due
from workers.analysis.detectors import DETECTORS, ThresholdError, read_thresholds

MAX_REASON = 2000


class CannotDismiss(ValueError):
    """Refusal to dismiss a flag, with the reason."""


class CannotChangeThresholds(ValueError):
    """Refusal of thresholds, with the reason, which names the valid ones."""


def dismiss(flag: Flag, person: User, reason: str) -> FlagDismissal:
    """Dismiss a flag for the data on which it fired; a second dismissal replaces the reason. Raise CannotDismiss. The
    KL of other runs may be compared with that of a run without open flags, so they are checked again."""
    text = storable(reason.strip())
    if not text:
        raise CannotDismiss(gettext("State why this is no cheating; the reason is stored with the flag."))
    if len(text) > MAX_REASON:
        raise CannotDismiss(gettext("The reason must have at most %(most)s characters.") % {"most": MAX_REASON})
    dismissal, _ = FlagDismissal.objects.update_or_create(
        flag=flag, data_hash=flag.data_hash, undone_at=None,
        defaults={"reason": text, "dismissed_by": person, "step": flag.step},
    )  # fmt: skip
    mark_flag_checks_due(checked_peers(flag.run))
    return dismissal


def undo_dismissal(flag: Flag, person: User) -> None:
    """Open the flag again. The dismissal and its reason remain in the history. Do nothing if none applies."""
    applying = FlagDismissal.objects.filter(flag=flag, data_hash=flag.data_hash, undone_at__isnull=True)
    if applying.update(undone_at=timezone.now(), undone_by=person):
        mark_flag_checks_due(checked_peers(flag.run))


@transaction.atomic
def set_thresholds(experiment: Experiment | None, values: Mapping[str, Any], person: User) -> None:
    """Set the thresholds of the site, or of an experiment, and have its runs checked again.

    `values` has the detectors that differ from the defaults, or from the site's. Raise CannotChangeThresholds.
    """
    try:
        thresholds = read_thresholds(values)
    except ThresholdError as error:
        raise CannotChangeThresholds(str(error)) from None
    base = {detector.name: detector.threshold for detector in DETECTORS} if experiment is None else {}
    changed = {name: value for name, value in thresholds.items() if name not in base or base[name] != value}
    row, _ = FlagThresholds.objects.update_or_create(
        experiment=experiment, defaults={"values": changed, "changed_by": person}
    )
    access.note(person, row, f"changed flag thresholds to {changed}")
    checks = FlagCheck.objects.all() if experiment is None else FlagCheck.objects.filter(run__experiment=experiment)
    mark_flag_checks_due(checks.values_list("run_id", flat=True))
