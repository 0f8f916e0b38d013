"""Create the runs of sweeps, and release as many of them to their clusters as may be there at a time.

What is released is decided under the sweep's own lock, from rows alone: a tick that runs twice, or at the same time as
another one, finds no more room than there is, and the next tick completes what a killed one left undone.
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
from runs.launching.create import NAME_LENGTH, check, check_hours, check_words, held_by_sweep, run_of
from runs.launching.resume import check_undo
from runs.launching.sweeps.plan import Cell, PlannedRun, identity, label, planned, widened
from runs.launching.transitions import tell
from runs.models import Attempt, AttemptEvent, Cluster, Experiment, Hold, Origin, Run, Sweep, key_of
from workers.config import ConfigError, Problem
from workers.config.resources import resources
from workers.executors.states import State

AT_ONCE = 4
AT_ONCE_AT_MOST = 1000
DROPPED = "cancelled with its sweep, before it was submitted"


@dataclass(frozen=True)
class NewSweep:
    """Sweep to plan or launch. `base` is a config without the values of the cells; give `grid` or `cells`."""

    base: dict[str, Any]
    seeds: list[int]
    grid: dict[str, list[Any]] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)
    name: str = ""
    preset: str = ""
    at_once: int = AT_ONCE


def plan_sweep(new: NewSweep, person: User) -> list[PlannedRun]:
    """Return the runs that the sweep would have. Raise ConfigError with everything that is wrong with any of them."""
    check_words(new.name, new.preset)
    runs = planned(new.base, new.grid, new.cells, new.seeds)
    _check_at_once(new.at_once)
    _check_places(runs, person)
    return runs


def launch_sweep(new: NewSweep, experiment: Experiment, person: User) -> Sweep:
    """Create a sweep with all of its runs; the first start once it is committed. Raise ConfigError for any problem."""
    runs = plan_sweep(new, person)
    with transaction.atomic():
        sweep = Sweep.objects.create(
            experiment=experiment, created_by=person, name=new.name or f"{new.preset or runs[0].config.method} sweep",
            preset=new.preset, base=new.base, grid=new.grid, cells=new.cells, seeds=new.seeds, at_once=new.at_once,
        )  # fmt: skip
        _make(sweep, person, runs)
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
        now = Sweep.objects.select_for_update().get(pk=sweep.pk)
        now.grid, now.cells = widened(now.grid, now.cells, grid or {}, cells)
        now.seeds = list(dict.fromkeys([*now.seeds, *seeds]))
        there = {identity(cell or {}, seed) for cell, seed in now.runs.values_list("cell", "seed")}
        new = [one for one in planned(now.base, now.grid, now.cells, now.seeds) if one.identity not in there]
        _check_places(new, person)
        now.save(update_fields=["grid", "cells", "seeds"])
        made = _make(now, person, new)
        _tick_soon(sweep)
    return made


def pause_sweep(sweep: Sweep) -> bool:
    """Pause a sweep: no more of its runs start, and runs that are on a cluster continue.

    Return False if it was paused already.
    """
    return bool(Sweep.objects.filter(pk=sweep.pk, paused_at=None).update(paused_at=timezone.now()))


def unpause_sweep(sweep: Sweep) -> bool:
    """Let a paused sweep continue. Return False if it was not paused."""
    with transaction.atomic():
        _tick_soon(sweep)
        return bool(Sweep.objects.filter(pk=sweep.pk, paused_at__isnull=False).update(paused_at=None))


def change_at_once(sweep: Sweep, at_once: int) -> None:
    """Set how many runs of the sweep may be on their clusters at a time. Raise ConfigError if out of range."""
    _check_at_once(at_once)
    with transaction.atomic():
        Sweep.objects.filter(pk=sweep.pk).update(at_once=at_once)
        _tick_soon(sweep)


def cancel_sweep(sweep: Sweep, person: User) -> int:
    """Request the end of all runs of a sweep that have not ended. Return how many those are."""
    now = timezone.now()
    with transaction.atomic():
        stopped = drop_held(sweep, person) + cancel_runs(sweep.runs.all(), person)
        if stopped:
            # The first of several cancels is kept: an undo is one of all of them.
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
        check_undo(sweep, Run.objects.filter(pk__in=requested.filter(state=State.CANCELLED).values("pk")))
        picked_up = pick_up_dropped(sweep, person)
        ended = list(requested.filter(state=State.CANCELLED).order_by("pk"))
        for run in ended:
            resume_run(run, person)
        stopping = Attempt.objects.open().filter(run__sweep=sweep, cancel_requested_at__gte=since)
        if not stopping.exists():
            Sweep.objects.filter(pk=sweep.pk).update(cancelled_at=None)
        _tick_soon(sweep)
    return picked_up + len(ended)


def drop_held(sweep: Sweep, person: User) -> int:
    """Cancel all attempts of the sweep that are still held, in a few statements. Return their number."""
    now = timezone.now()
    with transaction.atomic():
        # Under the sweep's lock, as what lets them go is.
        Sweep.objects.select_for_update().get(pk=sweep.pk)
        waiting = Attempt.objects.held().filter(run__sweep=sweep).select_for_update(of=("self",))
        held = list(waiting.select_related("run"))
        mine = Attempt.objects.filter(pk__in=[attempt.pk for attempt in held])
        mine.update(state=State.CANCELLED.value, reason=DROPPED, cancel_requested_at=now, ended_at=now)
        Run.objects.filter(pk__in=[attempt.run_id for attempt in held]).update(state=State.CANCELLED.value)
        AttemptEvent.objects.bulk_create(
            AttemptEvent(attempt=a, from_state=a.state, to_state=State.CANCELLED, why=f"{DROPPED} by {person}")
            for a in held
        )
        for attempt in held:
            tell(attempt)
    return len(held)


def pick_up_dropped(sweep: Sweep, person: User) -> int:
    """Create the next attempts of runs that the sweep's cancel ended before they were submitted.

    Return their number.
    """
    with transaction.atomic():
        now = Sweep.objects.select_for_update().get(pk=sweep.pk)
        if now.cancelled_at is None:
            return 0
        later = Attempt.objects.filter(run=OuterRef("run"), n__gt=OuterRef("n"))
        ended = Attempt.objects.filter(run__sweep=now, run__deleted_at=None, state=State.CANCELLED, submits=0)
        dropped = ended.filter(~Exists(later), cancel_requested_at__gte=now.cancelled_at, moves_to=None)
        made = Attempt.objects.bulk_create(_again(one) for one in dropped.select_related("run", "cluster"))
        Run.objects.filter(pk__in=[one.run_id for one in made]).update(state=State.CREATED.value)
        why = f"the cancel of its sweep was undone by {person}"
        AttemptEvent.objects.bulk_create(AttemptEvent(attempt=one, to_state=State.CREATED, why=why) for one in made)
        for one in made:
            tell(one)
    return len(made)


def let_go(cluster: Cluster) -> list[Attempt]:
    """Release the attempts of sweeps that wait for this cluster, as many as may run.

    Two simultaneous calls release no more than one would. Return the released attempts.
    """
    waiting = Attempt.objects.held().filter(cluster=cluster, hold=Hold.SWEEP)
    sweeps = Sweep.objects.filter(paused_at=None, pk__in=waiting.values("run__sweep")).order_by("pk")
    return [attempt for pk in sweeps.values_list("pk", flat=True) for attempt in _let_go(pk)]


def _let_go(sweep_id: int) -> list[Attempt]:
    with transaction.atomic():
        sweep = Sweep.objects.select_for_update().get(pk=sweep_id)
        mine = Attempt.objects.filter(run__sweep=sweep)
        room = sweep.at_once - mine.to_clusters().count()
        if sweep.paused_at is not None or room <= 0:
            return []
        first = mine.held().filter(hold=Hold.SWEEP).select_related("run").order_by("run", "pk")[:room]
        return [attempt for attempt in first if _has_gone(attempt)]


def _has_gone(attempt: Attempt) -> bool:
    """Release one attempt. Return False if somebody has cancelled or held it since it was read."""
    held = Attempt.objects.filter(pk=attempt.pk, hold=Hold.SWEEP, state=State.CREATED.value)
    if not held.update(hold="", reason=""):
        return False
    attempt.note("its turn in its sweep has come")
    tell(attempt)
    return True


def _again(left: Attempt) -> Attempt:
    """Return the unsaved attempt that follows one that never began. It starts where that one would have."""
    run, n = left.run, left.n + 1
    return Attempt(
        run=run, n=n, key=key_of(run, n), cluster=left.cluster, origin=Origin.RESUME,
        resumed_attempt=left.resumed_attempt, resumed_step=left.resumed_step, **held_by_sweep(run),
    )  # fmt: skip


def _make(sweep: Sweep, person: User, runs: Sequence[PlannedRun]) -> list[Run]:
    """Create the rows of runs and attempts, in a few statements. Raise ConfigError if they exceed a limit."""
    clusters = {cluster.name: cluster for cluster in Cluster.objects.all()}
    demands = check_hours(person, sweep.experiment, [one.config for one in runs], sweep.preset)
    made = Run.objects.bulk_create(_run(sweep, person, one, demand) for one, demand in zip(runs, demands, strict=True))
    attempts = Attempt.objects.bulk_create(
        Attempt(run=run, n=1, key=key_of(run, 1), cluster=clusters[one.config.compute.cluster], **held_by_sweep(run))
        for run, one in zip(made, runs, strict=True)
    )
    AttemptEvent.objects.bulk_create(
        AttemptEvent(attempt=a, to_state=State.CREATED, why=f"created in a sweep, to run on {a.cluster}")
        for a in attempts
    )
    return made


def _run(sweep: Sweep, person: User, one: PlannedRun, demand: Demand) -> Run:
    words = f"{sweep.name} {label(one.cell)}"
    seed = f" seed {one.seed}"
    run = run_of(sweep.experiment, person, demand, words[: NAME_LENGTH - len(seed)] + seed, sweep.preset)
    run.sweep, run.cell = sweep, one.cell
    return run


def _tick_soon(sweep: Sweep) -> None:
    """Tick the clusters that runs of the sweep wait for as soon as this is committed, not with the next tick."""
    places = Attempt.objects.held().filter(run__sweep=sweep).order_by().values_list("cluster", flat=True).distinct()
    for pk in Cluster.objects.filter(pk__in=list(places)).values_list("pk", flat=True):
        on_commit("tick_cluster", pk)


def _check_at_once(at_once: int) -> None:
    if not 1 <= at_once <= AT_ONCE_AT_MOST:
        raise ConfigError([Problem("at_once", f"must be at least 1 and at most {AT_ONCE_AT_MOST}, not {at_once}")])


def _check_places(runs: Sequence[PlannedRun], person: User) -> None:
    """Raise ConfigError with what clusters or the person's rights forbid.

    Configs that request the same resources are checked once.
    """
    asked: dict[str, PlannedRun] = {}
    for one in runs:
        asked.setdefault(f"{one.config.compute} {list(resources(one.config))}", one)
    problems: dict[Problem, None] = {}
    for one in asked.values():
        try:
            check(one.config, person)
        except ConfigError as error:
            problems |= dict.fromkeys(error.problems)
    if problems:
        raise ConfigError(list(problems))
