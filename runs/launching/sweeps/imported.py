"""Store a sweep that came with the archive of its experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from runs.launching.sweeps.plan import plan_runs
from runs.models import Experiment, Run, Sweep

MAX_NAME, MAX_PRESET = 200, 100


def store_imported_sweep(
    experiment: Experiment,
    person: User,
    runs: Sequence[Run],
    *,
    name: str,
    is_paused: bool,
    is_cancelled: bool,
    **plan: Any,
) -> bool:
    """Store the sweep with these runs, and return whether it is new. Raise ConfigError or ValueError if its plan
    is not valid here.

    None of its runs waits, so nothing is submitted. To extend it launches runs as any sweep of this user does.
    """
    if any(not isinstance(values, list) for values in plan["grid"].values()):
        raise ValueError("each key of its grid needs a list of values")
    plan_runs(plan["base"], plan["grid"], plan["cells"], plan["seeds"])
    plan["preset"], plan["at_once"] = plan["preset"][:MAX_PRESET], min(max(1, plan["at_once"]), 1000)
    sweep = experiment.sweeps.filter(
        name=name[:MAX_NAME], base=plan["base"], grid=plan["grid"], cells=plan["cells"], seeds=plan["seeds"]
    ).first()
    is_new = sweep is None
    if sweep is None:
        now = timezone.now()
        sweep = Sweep.objects.create(
            experiment=experiment, created_by=person, name=name[:MAX_NAME],
            paused_at=now if is_paused else None, cancelled_at=now if is_cancelled else None, **plan,
        )  # fmt: skip
    Run.objects.filter(pk__in=[run.pk for run in runs], sweep=None).update(sweep=sweep)
    return is_new
