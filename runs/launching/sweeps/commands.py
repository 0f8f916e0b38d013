"""Create the runs of sweeps, and release as many of them to their clusters as may be there at a time.

The released runs are selected under the sweep's own lock, from rows only: a tick that runs twice, or at the same time
as another one, releases no more than allowed, and the next tick completes the work of a killed one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from runs.enqueue import on_commit
from runs.launching.budgets import Demand
from runs.launching.commands import cancel_runs, resume_run
from runs.launching.create import check_config, check_names, estimate_demands, held_by_sweep, new_run
from runs.launching.gpu_memory import GpuDefaults, Gpus
from runs.launching.resume import check_undo
from runs.launching.run_names import default_sweep_name, sweep_run_name
from runs.launching.sweeps.plan import Cell, PlannedRun, extend_cells, identity, plan_runs
from runs.launching.transitions import publish
from runs.models import Attempt, AttemptEvent, Cluster, Experiment, Hold, Origin, Run, Sweep, key_of
from workers.config import ConfigError, Problem
from workers.config.resources import resources
from workers.executors.states import State

DEFAULT_CONCURRENT_RUNS = 4
MAX_CONCURRENT_RUNS = 1000
DROPPED_REASON = "cancelled with its sweep, before it was submitted"


@dataclass(frozen=True)
class NewSweep:
    """Sweep to plan or launch. `base` is a config without the values of the cells; give `grid` or `cells`."""

    base: dict[str, Any]
    seeds: list[int]
    grid: dict[str, list[Any]] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)
    name: str = ""
    preset: str = ""
    at_once: int = DEFAULT_CONCURRENT_RUNS


def plan_sweep(new: NewSweep, person: User) -> list[PlannedRun]:
    """Return the runs that the sweep would have. Raise ConfigError with everything that is wrong with any of them."""
    check_names(new.name, new.preset)
    runs = plan_runs(new.base, new.grid, new.cells, new.seeds, GpuDefaults(person).decode)
    _check_concurrent_runs(new.at_once)
    _check_configs(runs, person)
    return runs


def launch_sweep(new: NewSweep, experiment: Experiment, person: User) -> Sweep:
    """Create a sweep with all of its runs; the first start once it is committed. Raise ConfigError for any problem."""
    runs = plan_sweep(new, person)
    with transaction.atomic():
        sweep = Sweep.objects.create(
            experiment=experiment, created_by=person, name=new.name or _default_name(new, runs[0]),
            preset=new.preset, base=new.base, grid=new.grid, cells=new.cells, seeds=new.seeds, at_once=new.at_once,
        )  # fmt: skip
        _create_runs(sweep, person, runs)
        _tick_soon(sweep)
    return sweep


def extend_sweep(
    sweep: Sweep,
    person: User,
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    cells: Sequence[Cell] = (),
    seeds: Sequence[int] = (),
) -> list[Run]:
    """Create the runs that more values, cells or seeds add; they start when there is room.

    Raise ConfigError for any problem.
    """
    with transaction.atomic():
        locked = Sweep.objects.select_for_update().get(pk=sweep.pk)
        locked.grid, locked.cells = extend_cells(locked.grid, locked.cells, grid or {}, cells)
        locked.seeds = list(dict.fromkeys([*locked.seeds, *seeds]))
        existing = {identity(cell or {}, seed) for cell, seed in locked.runs.values_list("cell", "seed")}
        # Further runs have the GPUs of those that exist, also of a sweep that an older version launched.
        gpus = GpuDefaults(person, settled=_settled_gpus(locked))
        new = [
            planned_run
            for planned_run in plan_runs(locked.base, locked.grid, locked.cells, locked.seeds, gpus.decode)
            if planned_run.identity not in existing
        ]
        _check_configs(new, person)
        locked.save(update_fields=["grid", "cells", "seeds"])
        created = _create_runs(locked, person, new)
        _tick_soon(sweep)
    return created


def unpause_sweep(sweep: Sweep) -> bool:
    """Let a paused sweep continue. Return False if it was not paused."""
    with transaction.atomic():
        _tick_soon(sweep)
        return bool(Sweep.objects.filter(pk=sweep.pk, paused_at__isnull=False).update(paused_at=None))


def set_concurrent_runs(sweep: Sweep, at_once: int) -> None:
    """Set how many runs of the sweep may be on their clusters at a time. Raise ConfigError if out of range."""
    _check_concurrent_runs(at_once)
    with transaction.atomic():
        Sweep.objects.filter(pk=sweep.pk).update(at_once=at_once)
        _tick_soon(sweep)


def cancel_sweep(sweep: Sweep, person: User) -> int:
    """Request the end of all runs of a sweep that have not ended. Return how many those are."""
    now = timezone.now()
    with transaction.atomic():
        stopped = cancel_held(sweep, person) + cancel_runs(sweep.runs.all(), person)
        if stopped:
            # The time of the first cancel is retained, because an undo applies to all cancels.
            Sweep.objects.filter(pk=sweep.pk, cancelled_at=None).update(cancelled_at=now)
    return stopped


def uncancel_sweep(sweep: Sweep, person: User) -> int:
    """Resume the runs that a sweep's cancel has ended, and return their number. What is still stopping is left.

    Raise CannotResume, resuming none, if they are together beyond a limit.
    """
    since = Sweep.objects.values_list("cancelled_at", flat=True).get(pk=sweep.pk)
    if since is None:
        return 0
    requested = sweep.runs.filter(deleted_at__isnull=True, attempts__cancel_requested_at__gte=since).distinct()
    with transaction.atomic():
        cancelled = requested.filter(state=State.CANCELLED).order_by("pk")
        runs = list(cancelled)
        check_undo(sweep, runs)
        picked_up = resume_dropped(sweep, person)
        left = set(cancelled.values_list("pk", flat=True))
        ended = [run for run in runs if run.pk in left]
        for run in ended:
            resume_run(run, person)
        stopping = Attempt.objects.open().filter(run__sweep=sweep, cancel_requested_at__gte=since)
        if not stopping.exists():
            Sweep.objects.filter(pk=sweep.pk).update(cancelled_at=None)
        _tick_soon(sweep)
    return picked_up + len(ended)


def cancel_held(sweep: Sweep, person: User) -> int:
    """Cancel all attempts of the sweep that are still held, in a few statements. Return their number."""
    now = timezone.now()
    with transaction.atomic():
        # The sweep is locked, as for a release of its attempts.
        Sweep.objects.select_for_update().get(pk=sweep.pk)
        waiting = Attempt.objects.on_hold().filter(run__sweep=sweep).select_for_update(of=("self",))
        held = list(waiting.select_related("run"))
        cancelled = Attempt.objects.filter(pk__in=[attempt.pk for attempt in held])
        cancelled.update(state=State.CANCELLED.value, reason=DROPPED_REASON, cancel_requested_at=now, ended_at=now)
        Run.objects.filter(pk__in=[attempt.run_id for attempt in held]).update(state=State.CANCELLED.value)
        AttemptEvent.objects.bulk_create(
            AttemptEvent(attempt=a, from_state=a.state, to_state=State.CANCELLED, why=f"{DROPPED_REASON} by {person}")
            for a in held
        )
        for attempt in held:
            publish(attempt)
    return len(held)


def resume_dropped(sweep: Sweep, person: User) -> int:
    """Create the next attempts of runs that the sweep's cancel ended before they were submitted.

    Return their number.
    """
    with transaction.atomic():
        locked = Sweep.objects.select_for_update().get(pk=sweep.pk)
        if locked.cancelled_at is None:
            return 0
        later = Attempt.objects.filter(run=OuterRef("run"), n__gt=OuterRef("n"))
        ended = Attempt.objects.filter(run__sweep=locked, run__deleted_at=None, state=State.CANCELLED, submits=0)
        dropped = ended.filter(~Exists(later), cancel_requested_at__gte=locked.cancelled_at, moves_to=None)
        created = Attempt.objects.bulk_create(
            _next_attempt(attempt) for attempt in dropped.select_related("run", "cluster")
        )
        Run.objects.filter(pk__in=[new.run_id for new in created]).update(state=State.CREATED.value)
        reason = f"the cancel of its sweep was undone by {person}"
        AttemptEvent.objects.bulk_create(
            AttemptEvent(attempt=new, to_state=State.CREATED, why=reason) for new in created
        )
        for new in created:
            publish(new)
    return len(created)


def release_waiting(cluster: Cluster) -> list[Attempt]:
    """Release the attempts of sweeps that wait for this cluster, as many as may run.

    Two simultaneous calls release no more than one would. Return the released attempts.
    """
    waiting = Attempt.objects.on_hold().filter(cluster=cluster, hold=Hold.SWEEP)
    sweeps = Sweep.objects.filter(paused_at=None, pk__in=waiting.values("run__sweep")).order_by("pk")
    return [attempt for pk in sweeps.values_list("pk", flat=True) for attempt in _release_sweep(pk)]


def _release_sweep(sweep_id: int) -> list[Attempt]:
    with transaction.atomic():
        sweep = Sweep.objects.select_for_update().get(pk=sweep_id)
        attempts = Attempt.objects.filter(run__sweep=sweep)
        room = sweep.at_once - attempts.to_clusters().count()
        if sweep.paused_at is not None or room <= 0:
            return []
        first = attempts.on_hold().filter(hold=Hold.SWEEP).select_related("run").order_by("run", "pk")[:room]
        return [attempt for attempt in first if _release_attempt(attempt)]


def _release_attempt(attempt: Attempt) -> bool:
    """Release one attempt. Return False if somebody has cancelled or held it since it was read."""
    waiting = Attempt.objects.filter(pk=attempt.pk, hold=Hold.SWEEP, state=State.CREATED.value)
    if not waiting.update(hold="", reason=""):
        return False
    attempt.note("released by its sweep")
    publish(attempt)
    return True


def _next_attempt(dropped: Attempt) -> Attempt:
    """Return the unsaved attempt that follows one that never began. It starts where that one would have."""
    run, n = dropped.run, dropped.n + 1
    return Attempt(
        run=run, n=n, key=key_of(run, n), cluster=dropped.cluster, origin=Origin.RESUME,
        resumed_attempt=dropped.resumed_attempt, resumed_step=dropped.resumed_step, **held_by_sweep(run),
    )  # fmt: skip


def _create_runs(sweep: Sweep, person: User, runs: Sequence[PlannedRun]) -> list[Run]:
    """Create the rows of runs and attempts, in a few statements. Raise ConfigError if they exceed a limit."""
    clusters = {cluster.name: cluster for cluster in Cluster.objects.all()}
    demands = estimate_demands(person, sweep.experiment, [planned_run.config for planned_run in runs], sweep.preset)
    created = Run.objects.bulk_create(
        _run(sweep, person, planned, demand) for planned, demand in zip(runs, demands, strict=True)
    )
    attempts = Attempt.objects.bulk_create(
        Attempt(
            run=run, n=1, key=key_of(run, 1), cluster=clusters[planned.config.compute.cluster], **held_by_sweep(run)
        )
        for run, planned in zip(created, runs, strict=True)
    )
    AttemptEvent.objects.bulk_create(
        AttemptEvent(attempt=a, to_state=State.CREATED, why=f"created in a sweep, to run on {a.cluster}")
        for a in attempts
    )
    return created


def _settled_gpus(sweep: Sweep) -> dict[tuple[str, str], Gpus]:
    """Return model.path and cluster -> GPUs of the runs that a sweep has, where all of them have the same."""
    gpus_by_place: dict[tuple[str, str], set[Gpus]] = {}
    keys = ("config__model__path", "config__compute__cluster", "config__compute__gpus")
    for model, cluster, gpus in sweep.runs.values_list(*keys):
        gpus_by_place.setdefault((model, cluster), set()).add(gpus)
    return {place: gpus.pop() for place, gpus in gpus_by_place.items() if len(gpus) == 1}


def _default_name(new: NewSweep, first: PlannedRun) -> str:
    return default_sweep_name(first.config, new.preset, frozenset(first.cell))


def _run(sweep: Sweep, person: User, planned_run: PlannedRun, demand: Demand) -> Run:
    name = sweep_run_name(planned_run.cell, planned_run.seed, sweep.name)
    run = new_run(sweep.experiment, person, demand, name, sweep.preset)
    run.sweep, run.cell = sweep, planned_run.cell
    return run


def _tick_soon(sweep: Sweep) -> None:
    """Tick the clusters that runs of the sweep wait for as soon as this is committed, not with the next tick."""
    cluster_ids = (
        Attempt.objects.on_hold().filter(run__sweep=sweep).order_by().values_list("cluster", flat=True).distinct()
    )
    for pk in Cluster.objects.filter(pk__in=list(cluster_ids)).values_list("pk", flat=True):
        on_commit("tick_cluster", pk)


def _check_concurrent_runs(at_once: int) -> None:
    if not 1 <= at_once <= MAX_CONCURRENT_RUNS:
        raise ConfigError([Problem("at_once", f"must be at least 1 and at most {MAX_CONCURRENT_RUNS}, not {at_once}")])


def _check_configs(runs: Sequence[PlannedRun], person: User) -> None:
    """Raise ConfigError for values that the clusters' settings or the user's rights forbid.

    Configs that request the same resources are checked once.
    """
    distinct_runs: dict[str, PlannedRun] = {}
    for planned_run in runs:
        distinct_runs.setdefault(f"{planned_run.config.compute} {list(resources(planned_run.config))}", planned_run)
    problems: dict[Problem, None] = {}
    for planned_run in distinct_runs.values():
        try:
            check_config(planned_run.config, person)
        except ConfigError as error:
            problems |= dict.fromkeys(error.problems)
    if problems:
        raise ConfigError(list(problems))
