"""What had not ended when the backup was made: on the restored site it has, since its processes are another site's."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from runs import access
from runs.models import Attempt, AttemptEvent, Rebuild, Run
from workers.executors.states import State

REASON = "the site was restored from a backup that was made before this ended"


def end_open_jobs(at: datetime) -> int:
    """End all open attempts and rebuilds as interrupted at that time; return how many. Nothing starts by itself."""
    with transaction.atomic():
        attempts = list(Attempt.objects.open().select_related("run"))
        for attempt in attempts:
            attempt.note(REASON, "warning", attempt.state, State.INTERRUPTED)
            access.end_run_tokens(attempt.run, attempt.key)
            if attempt.speaks_for_run:
                Run.objects.filter(pk=attempt.run_id).update(state=State.INTERRUPTED.value)
        AttemptEvent.objects.filter(attempt__in=attempts, why=REASON).update(at=at)
        ended = {"state": State.INTERRUPTED.value, "reason": REASON, "ended_at": at}
        Attempt.objects.filter(pk__in=[attempt.pk for attempt in attempts]).update(**ended, hold="")
        Attempt.objects.filter(restart_at__isnull=False).update(restart_at=None)
        Attempt.objects.filter(moves_to__isnull=False).update(moves_to=None, moves_held=False)
        return len(attempts) + Rebuild.objects.open().update(**ended)
