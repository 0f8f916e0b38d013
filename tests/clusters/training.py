"""The real trainer, launched in every way that there is, and what it left: to be the same wherever it ran."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from runs.ingest import Follower
from runs.launching import reconcile
from runs.launching.config_form import initial_from
from runs.metrics import read
from runs.models import Attempt, Checkpoint, Cluster, Experiment, Run
from tests.clusters.far_slurm import there
from tests.runs.api_client import calls
from tests.runs.local_cluster import attempt_of
from tests.waiting import wait_until
from workers.config import preset
from workers.executors.states import State

SMALL = {"es": {"iterations": 2, "population": 4, "checkpoint_every": 1}, "evaluation": {"every": 1, "prompts": 2}}
CURVES = ("reward/mean", "kl", "es/update_norm")


def called_for(ada: User, cluster: str) -> Run:
    """By a call of the API."""
    config = {**SMALL, "compute": {"cluster": cluster}}
    body = {"experiment_name": "Concise", "preset": "es-micro", "config": config}
    answer = calls(ada, "launch").post("/api/v1/runs", body, content_type="application/json")
    assert answer.status_code == 201, answer.content
    return Run.objects.get(uid=answer.json()["uid"])


def filled_in(client: Client, experiment: Experiment, cluster: str) -> Run:
    """By the form."""
    config = {**preset("es-micro").config, "compute": {"cluster": cluster}}
    knobs = initial_from({key: {**value, **SMALL.get(key, {})} if isinstance(value, dict) else value
                          for key, value in config.items()})  # fmt: skip
    typed = {key: value for key, value in knobs.items() if value is not None and value is not False}
    answer = client.post(reverse("launch", args=[experiment.pk]), {"preset": "es-micro", "seeds": "0", **typed})
    assert answer.status_code == 302, answer.content
    return Run.objects.latest("pk")


def swept(ada: User, *cells: dict[str, Any]) -> list[Run]:
    """By one sweep of these cells."""
    body = {"experiment_name": "Concise", "preset": "es-micro", "config": SMALL, "seeds": [0], "cells": list(cells)}
    answer = calls(ada, "launch").post("/api/v1/sweeps", body, content_type="application/json")
    assert answer.status_code == 201, answer.content
    return list(Run.objects.filter(sweep=answer.json()["id"]).order_by("pk"))


def train(runs: list[Run]) -> None:
    """Tick and follow until all of them have ended and all of their records are in the database.

    A trainer takes long to begin and to end, and waiting for that takes no tick: its files tell.
    """
    clusters = list(Cluster.objects.filter(attempts__run__in=runs).distinct())
    follower = Follower()

    def looked_at(run: Run) -> Attempt:
        for cluster in clusters:
            reconcile.reconcile_cluster(cluster)
        follower.look()
        return attempt_of(run)

    def has_written(run: Run, *names: str) -> bool:
        return any((there(attempt_of(run)) / name).exists() for name in names)

    def has_told_its_environment(run: Run) -> bool:
        attempt = looked_at(run)
        return attempt.environment is not None or State(attempt.state).is_final

    _await_all(runs, lambda run: looked_at(run).started_at is not None, "to start")
    _await_all(runs, lambda run: has_written(run, "records.0.jsonl", "exit.json"), "to write its first records")
    _await_all(runs, has_told_its_environment, "to be followed while it trains")
    _await_all(runs, lambda run: has_written(run, "exit.json"), "to end")
    _await_all(runs, lambda run: looked_at(run).drained_at is not None, "to have all records in the database")
    for run in runs:
        assert attempt_of(run).state == State.SUCCEEDED.value, f"{attempt_of(run).key}: {attempt_of(run).reason}"


def _await_all(runs: list[Run], condition: Callable[[Run], bool], awaited: str) -> None:
    for run in runs:
        wait_until(
            partial(condition, run),
            f"the training of {attempt_of(run).key} {awaited}",
            details=lambda: [f"{a.key}: {a.state}, {a.reason}" for a in map(attempt_of, runs)],
        )


def result(run: Run) -> dict[str, Any]:
    """What must be the same: the weights of every checkpoint, and its curves."""
    saved = dict(Checkpoint.objects.filter(run=run).values_list("step", "sha256"))
    assert set(saved) >= {1, 2}
    return {"checkpoints": saved, **{key: curve(run, key) for key in CURVES}}


def curve(run: Run, key: str) -> list[tuple[float, float]]:
    """Its points along the steps."""
    [found] = read([run], [key])
    points = list(zip(found.x.tolist(), found.y.tolist(), strict=True))
    assert points
    return points
