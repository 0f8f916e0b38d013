"""Launch the real trainer in every way, and read its results, which must be equal on all clusters."""

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
from runs.models import Attempt, Checkpoint, Cluster, Experiment, ProbeResult, Response, Run
from tests.clusters.scripted_slurm import cluster_directory
from tests.runs.api_client import calls
from tests.runs.local_cluster import attempt_of
from tests.waiting import wait_until
from workers.config import preset
from workers.executors.states import State

SMALL = {
    "es": {"iterations": 2, "population": 4, "checkpoint_every": 1, "keep": "all"},
    "evaluation": {"every": 1, "prompts": 2},
}
CURVES = ("reward/mean", "kl", "es/update_norm")


def launch_by_api(ada: User, cluster: str) -> Run:
    """Launch a run by a call of the API."""
    config = {**SMALL, "compute": {"cluster": cluster}}
    body = {"experiment_name": "Concise", "preset": "es-micro", "config": config}
    response = calls(ada, "launch").post("/api/v1/runs", body, content_type="application/json")
    assert response.status_code == 201, response.content
    return Run.objects.get(uid=response.json()["uid"])


def launch_by_form(client: Client, experiment: Experiment, cluster: str) -> Run:
    """Launch a run by the form."""
    config = {**preset("es-micro").config, "compute": {"cluster": cluster}}
    fields = initial_from({key: {**value, **SMALL.get(key, {})} if isinstance(value, dict) else value
                          for key, value in config.items()})  # fmt: skip
    form_data = {key: value for key, value in fields.items() if value is not None and value is not False}
    response = client.post(reverse("launch", args=[experiment.pk]), {"preset": "es-micro", "seeds": "0", **form_data})
    assert response.status_code == 302, response.content
    return Run.objects.latest("pk")


def launch_by_sweep(ada: User, *cells: dict[str, Any]) -> list[Run]:
    """Launch one sweep of these cells and return its runs."""
    body = {"experiment_name": "Concise", "preset": "es-micro", "config": SMALL, "seeds": [0], "cells": list(cells)}
    response = calls(ada, "launch").post("/api/v1/sweeps", body, content_type="application/json")
    assert response.status_code == 201, response.content
    return list(Run.objects.filter(sweep=response.json()["id"]).order_by("pk"))


def launch_evaluation(ada: User, training: Run) -> Run:
    """Launch an evaluation of the first and last step of a training, with its prompts, on its own cluster."""
    config = {
        "method": "evaluate",
        "task": training.config["task"],
        "evaluate": {"run": f"run:{training.uid}", "points": 2, "prior_tasks": [{"name": "countdown"}]},
        "evaluation": {key: training.config["evaluation"][key] for key in ("prompts", "samples")},
        "compute": {"cluster": training.config["compute"]["cluster"]},
    }
    body = {"experiment_name": "Concise", "config": config}
    response = calls(ada, "launch").post("/api/v1/runs", body, content_type="application/json")
    assert response.status_code == 201, response.content
    return Run.objects.get(uid=response.json()["uid"])


def launch_probe(ada: User, training: Run) -> Run:
    """Launch a probe of step 1 and of the last step of a training, with its prompts, on its own cluster."""
    config = {
        "method": "probe",
        "task": training.config["task"],
        "probe": {
            "runs": [f"run:{training.uid}", f"run:{training.uid}@1"],
            "probes": ["cosine", "magnitude", "interpolation"],
            "points": 3,
        },
        "evaluation": {"prompts": training.config["evaluation"]["prompts"]},
        "compute": {"cluster": training.config["compute"]["cluster"]},
    }
    body = {"experiment_name": "Concise", "config": config}
    response = calls(ada, "launch").post("/api/v1/runs", body, content_type="application/json")
    assert response.status_code == 201, response.content
    return Run.objects.get(uid=response.json()["uid"])


def check_probe(probe: Run, training: Run) -> None:
    """Check what a probe of steps 2 and 1 recorded: the ends of its lines are what the training recorded itself."""
    assert (probe.parent, attempt_of(probe).cluster) == (training, attempt_of(training).cluster)
    first, last = (f"{training.uid}@{step}" for step in (1, 2))
    results = ProbeResult.objects.filter(run=probe)
    lines = {("base", last), ("base", first), (last, first)}
    assert set(results.filter(measure="barrier").values_list("subject", "other")) == lines
    assert set(results.filter(measure="norm").values_list("subject", flat=True)) == {first, last}
    cosine = results.get(measure="cosine")
    assert (cosine.subject, cosine.other, cosine.step) == (last, first, 2)
    rewards = dict(read_curve(training, "reward/mean"))
    for line in results.filter(measure="reward"):
        ends = [line.values[0]["value"], line.values[-1]["value"]]
        names = {"base": 0, first: 1, last: 2}
        assert ends == [rewards[names[line.subject]], rewards[names[line.other]]]


def check_evaluation(evaluation: Run, training: Run) -> None:
    """Check what an evaluation of steps 0 and 2 recorded: of the trained task the same as the training itself."""
    assert (evaluation.parent, attempt_of(evaluation).cluster) == (training, attempt_of(training).cluster)
    prompts, samples = (training.config["evaluation"][key] for key in ("prompts", "samples"))
    for prefix in ("", "prior/countdown/"):
        assert read_curve(evaluation, f"{prefix}evaluate/prompts") == [(0, prompts), (2, prompts)]
        (_, base_kl), (_, last_kl) = read_curve(evaluation, f"{prefix}kl")
        assert base_kl == 0 < last_kl
        assert all(0 <= share <= 1 for _, share in read_curve(evaluation, f"{prefix}accuracy/greedy"))
    for key in ("reward/mean", "kl", "accuracy/contains"):
        ends = [point for point in read_curve(training, key) if point[0] in (0, 2)]
        assert read_curve(evaluation, key) == ends, key
    marked = Response.objects.filter(run=evaluation, parts__correct__in=[0, 1])
    assert marked.count() == Response.objects.filter(run=evaluation).count() == 2 * 2 * prompts * (1 + samples)


def train(runs: list[Run]) -> None:
    """Tick and follow until all runs have finished and all of their records are in the database.

    A trainer takes long to start and to end. There is no tick during that wait: its files show the progress.
    """
    clusters = list(Cluster.objects.filter(attempts__run__in=runs).distinct())
    follower = Follower()

    def tick_and_follow(run: Run) -> Attempt:
        for cluster in clusters:
            reconcile.reconcile_cluster(cluster)
        follower.look()
        return attempt_of(run)

    def has_file(run: Run, *names: str) -> bool:
        return any((cluster_directory(attempt_of(run)) / name).exists() for name in names)

    def has_environment(run: Run) -> bool:
        attempt = tick_and_follow(run)
        return attempt.environment is not None or State(attempt.state).is_final

    _await_all(runs, lambda run: tick_and_follow(run).started_at is not None, "to start")
    _await_all(runs, lambda run: has_file(run, "records.0.jsonl", "exit.json"), "to write its first records")
    _await_all(runs, has_environment, "to be followed while it trains")
    _await_all(runs, lambda run: has_file(run, "exit.json"), "to end")
    _await_all(runs, lambda run: tick_and_follow(run).drained_at is not None, "to have all records in the database")
    for run in runs:
        assert attempt_of(run).state == State.SUCCEEDED.value, f"{attempt_of(run).key}: {attempt_of(run).reason}"


def _await_all(runs: list[Run], condition: Callable[[Run], bool], awaited: str) -> None:
    for run in runs:
        wait_until(
            partial(condition, run),
            f"the training of {attempt_of(run).key} {awaited}",
            details=lambda: [f"{a.key}: {a.state}, {a.reason}" for a in map(attempt_of, runs)],
        )


def read_result(run: Run) -> dict[str, Any]:
    """Return the results that must be equal: the hash of every checkpoint's weights, and the curves."""
    saved = dict(Checkpoint.objects.filter(run=run).values_list("step", "sha256"))
    assert set(saved) >= {1, 2}
    return {"checkpoints": saved, **{key: read_curve(run, key) for key in CURVES}}


def read_curve(run: Run, key: str) -> list[tuple[float, float]]:
    """Return the points of a curve along the steps."""
    [series] = read([run], [key])
    points = list(zip(series.x.tolist(), series.y.tolist(), strict=True))
    assert points
    return points
