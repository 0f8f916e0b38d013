"""Create runs and attempts, in the database only."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import transaction

from runs import checkpoints
from runs.checkpoints import SavedCheckpoint
from runs.clusters import check_capacity, check_fits, check_partition
from runs.kinds import kind_of
from runs.launching.budgets import Demand, Estimator, check_limits
from runs.launching.code import check_own_task
from runs.launching.resources import check_resources, find_parent
from runs.launching.run_names import NAME_LENGTH, default_run_name, parent_name
from runs.launching.transitions import publish
from runs.models import Attempt, Cluster, Experiment, Hold, Origin, Run, key_of
from workers.config import ConfigError, Problem, RunConfig, preset
from workers.executors.states import State

SWEEP_HOLD_REASON = "waits in its sweep"


def create_run(*, experiment: Experiment, person: User, config: RunConfig, name: str = "", preset: str = "") -> Run:
    """Create a run with its first attempt, as `create_first_attempt`."""
    attempt = create_first_attempt(experiment=experiment, person=person, config=config, name=name, preset=preset)
    return attempt.run


def create_first_attempt(
    *, experiment: Experiment, person: User, config: RunConfig, name: str = "", preset: str = ""
) -> Attempt:
    """Create a run with its first attempt, to be submitted. Raise ConfigError for what the cluster, the user's rights
    or limits, or the names do not allow.

    The caller checks whether this user may launch in this experiment. What takes longest is done before the
    transaction, in which other launches wait for the limits.
    """
    cluster = check_config(config, person)
    check_names(name, preset)
    (demand,) = _estimate(person, [config], preset)
    run = new_run(experiment, person, demand, name, preset)
    with transaction.atomic():
        check_limits(person, experiment, [demand])
        run.save()
        attempt = _attempt(run, 1, cluster)
        attempt.note(f"created, to run on {cluster.name}", after=State.CREATED)
    return attempt


def new_run(experiment: Experiment, person: User, demand: Demand, name: str, preset: str) -> Run:
    """Return the row of a run, not yet saved."""
    config = demand.config
    parent, parent_step = find_parent(config, person)
    return Run(
        experiment=experiment,
        name=name or default_run_name(config, preset, parent_name(parent, experiment)),
        preset=preset,
        method=config.method,
        seed=config.seed,
        config=config.to_json(),
        parent=parent,
        parent_step=parent_step,
        created_by=person,
        estimated_seconds=demand.seconds,
    )


def estimate_demands(
    person: User, experiment: Experiment | None, configs: Sequence[RunConfig], preset: str
) -> list[Demand]:
    """Return the demand of each run, in order: its config and its estimated seconds, None without an estimate.

    Raise ConfigError if the runs exceed a limit.
    """
    demands = _estimate(person, configs, preset)
    with transaction.atomic():
        check_limits(person, experiment, demands)
    return demands


def _estimate(person: User, configs: Sequence[RunConfig], preset: str) -> list[Demand]:
    estimator = Estimator(person)
    estimates = [(config, estimator.estimate(config, preset)) for config in configs]
    return [
        Demand(config, estimate.median, estimate.gpu_share) if estimate else Demand(config, None)
        for config, estimate in estimates
    ]


def check_config(config: RunConfig, person: User) -> Cluster:
    """Return the cluster of a run that this user starts. Raise ConfigError for values that the cluster's settings or
    the user's rights forbid, or that no nodes of the cluster can give."""
    cluster = check_allowed(config, person)
    check_capacity(config, cluster)
    return cluster


def check_allowed(config: RunConfig, person: User) -> Cluster:
    """Return the cluster of a run. Raise ConfigError for values that the cluster's settings or the user's rights
    forbid; its nodes may still be too few or too small."""
    cluster = cluster_of(config)
    check_resources(config, person, cluster)
    check_fits(config, cluster)
    check_partition(config, cluster)
    check_own_task(config, cluster)
    return cluster


def new_attempt(run: Run, reason: str = "created", origin: Origin = Origin.RESUME) -> Attempt:
    """Create the run's next attempt, from its newest checkpoint. Return the current attempt if it has not ended.

    Two simultaneous calls return the same attempt. Raise ConfigError if the run's config, created by another version,
    is no longer valid, or names resources that its creator may not use.
    """
    cluster = cluster_of(run.run_config)
    check_resources(run.run_config, run.created_by, cluster)
    with transaction.atomic():
        Run.objects.select_for_update().get(pk=run.pk)
        newest = run.newest_attempt()
        if newest is not None and not State(newest.state).is_final:
            return newest
        run.attempts.filter(restart_at__isnull=False).update(restart_at=None)
        clear_moves(run)
        start = checkpoints.newest(run)
        attempt = _attempt(run, newest.n + 1 if newest else 1, cluster, start, origin)
        Run.objects.filter(pk=run.pk).update(state=attempt.state)
        attempt.note(f"{reason}, to run on {cluster.name}; {_describe_start(run, start)}", after=State.CREATED)
        publish(attempt)
    return attempt


def clear_moves(run: Run) -> bool:
    """Clear the planned moves of the run's attempts, so that no attempt is created to move or hold the run.

    Return False if no move was planned.
    """
    return bool(run.attempts.filter(moves_to__isnull=False).update(moves_to=None, moves_held=False))


def cluster_of(config: RunConfig) -> Cluster:
    """Return the cluster on which a run of this config runs. Raise ConfigError, with all names, if it is unknown."""
    try:
        return Cluster.objects.get(name=config.compute.cluster)
    except Cluster.DoesNotExist:
        names = ", ".join(Cluster.objects.order_by("name").values_list("name", flat=True))
        message = f"must be one of {names}, not {config.compute.cluster!r}"
        raise ConfigError([Problem("compute.cluster", message)]) from None


def _attempt(
    run: Run, n: int, cluster: Cluster, start: SavedCheckpoint | None = None, origin: Origin = Origin.LAUNCH
) -> Attempt:
    return Attempt.objects.create(
        run=run, n=n, key=key_of(run, n), cluster=cluster, origin=origin, **held_by_sweep(run),
        resumed_attempt=start.attempt if start else None, resumed_step=start.step if start else None,
    )  # fmt: skip


def held_by_sweep(run: Run) -> dict[str, str]:
    """Return the fields of an attempt that its sweep holds until its turn; empty if the run belongs to no sweep."""
    return {"hold": Hold.SWEEP.value, "reason": SWEEP_HOLD_REASON} if run.sweep_id else {}


def _describe_start(run: Run, start: SavedCheckpoint | None) -> str:
    if note := kind_of(run.method).resumption.note:
        return note
    if start is None:
        return "starts from the beginning, because there is no checkpoint"
    return f"resumes from step {start.step}, saved by attempt {start.attempt}"


def check_names(name: str, preset_name: str) -> None:
    """Raise ConfigError if the name is too long or holds a NUL character, or if there is no such preset."""
    if len(name) > NAME_LENGTH or "\x00" in name:
        raise ConfigError([Problem("name", f"must be text of at most {NAME_LENGTH} characters")])
    if preset_name:
        preset(preset_name)
