"""The real trainer, launched in every way that there is, and what it left: to be the same wherever it ran."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from runs import reconcile
from runs.forms import initial_from
from runs.management.following import Follower
from runs.models import Checkpoint, Cluster, Experiment, Run
from runs.series import read
from tests.runs.calling import calls
from tests.runs.clusters import attempt_of
from tests.waiting import wait_until
from workers.config import preset
from workers.executors.states import State

SMALL = {"es": {"iterations": 2, "population": 4, "checkpoint_every": 1}, "evaluation": {"every": 1, "prompts": 2}}
CURVES = ("reward/mean", "kl", "es/update_norm")


def called_for(ada: User, cluster: str, **config: Any) -> Run:
    """By a call of the API."""
    config = {**SMALL, **config, "compute": {"cluster": cluster}}
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
    """Ticks and follows, all of them at once, until they have ended and all of their records are in the database."""
    clusters = list(Cluster.objects.filter(attempts__run__in=runs).distinct())
    follower = Follower()

    def is_done(run: Run) -> bool:
        for cluster in clusters:
            reconcile.tick(cluster)
        follower.look()
        return attempt_of(run).drained_at is not None

    for run in runs:
        wait_until(
            partial(is_done, run),
            f"the training of {attempt_of(run).key} to end and all of its records to be in the database",
            details=lambda: [f"{a.key}: {a.state}, {a.reason}" for a in map(attempt_of, runs)],
        )
    for run in runs:
        assert attempt_of(run).state == State.SUCCEEDED.value, f"{attempt_of(run).key}: {attempt_of(run).reason}"


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
