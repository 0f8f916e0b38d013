"""Makes runs and attempts, in the database and nowhere else."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from runs.models import Attempt, AttemptEvent, Cluster, Experiment, Run
from workers.config import ConfigError, Problem, RunConfig, preset
from workers.executors.states import State

NAME_LENGTH = 200


def create_run(
    *, experiment: Experiment, person: User, config: dict[str, Any], name: str = "", preset: str = ""
) -> Run:
    """A run with its first attempt, to be submitted. Raises ConfigError with every problem of the config.

    Whether this person may launch in this experiment is for the caller to know.
    """
    decoded = RunConfig.from_json(config)
    cluster = _cluster(decoded)
    _check_words(name, preset)
    with transaction.atomic():
        run = Run.objects.create(
            experiment=experiment,
            name=name or f"{preset or decoded.method}, seed {decoded.seed}",
            preset=preset,
            method=decoded.method,
            seed=decoded.seed,
            config=decoded.to_json(),
            created_by=person,
        )
        _attempt(run, 1, cluster)
    return run


def new_attempt(run: Run) -> Attempt:
    """The run's next attempt; the present one where that has not ended. Two callers get the same."""
    with transaction.atomic():
        Run.objects.select_for_update().get(pk=run.pk)
        newest = run.newest_attempt()
        if newest is not None and not State(newest.state).is_final:
            return newest
        return _attempt(run, newest.n + 1 if newest else 1, _cluster(run.run_config))


def _attempt(run: Run, n: int, cluster: Cluster) -> Attempt:
    attempt = Attempt.objects.create(run=run, n=n, key=f"esweb-{run.uid}-a{n}", cluster=cluster)
    AttemptEvent.objects.create(attempt=attempt, to_state=attempt.state, why=f"created, to run on {cluster.name}")
    Run.objects.filter(pk=run.pk).update(state=attempt.state)
    return attempt


def _cluster(config: RunConfig) -> Cluster:
    try:
        return Cluster.objects.get(name=config.compute.cluster)
    except Cluster.DoesNotExist:
        names = ", ".join(Cluster.objects.order_by("name").values_list("name", flat=True))
        message = f"must be one of {names}, not {config.compute.cluster!r}"
        raise ConfigError([Problem("compute.cluster", message)]) from None


def _check_words(name: str, preset_name: str) -> None:
    if len(name) > NAME_LENGTH or "\x00" in name:
        raise ConfigError([Problem("name", f"must be text of at most {NAME_LENGTH} characters")])
    if preset_name:
        preset(preset_name)
