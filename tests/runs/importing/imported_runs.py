"""Runs as an import leaves them."""

from __future__ import annotations

from django.utils import timezone

from runs.models import Attempt, Experiment, Import, Origin, Run, key_of


def imported_run(experiment: Experiment, state: str = "failed") -> Run:
    """Create a run that was read from a file and has ended in this state."""
    run = Run.objects.create(
        experiment=experiment, name="es, elsewhere", method="es", seed=0, config={"method": "es"}, state=state,
        created_by=experiment.owner,
    )  # fmt: skip
    Attempt.objects.create(
        run=run, n=1, key=key_of(run, 1), cluster=None, origin=Origin.IMPORT, state=state, drained_at=timezone.now()
    )
    Import.objects.create(run=run, kind="ES log", name="a.log", sha256="ab" * 32, bytes=10, part=0)
    return run
