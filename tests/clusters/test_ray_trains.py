"""The whole way on a real Ray, with the real trainer: launched by form and sweep, followed, the same to the bit."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from runs.models import Checkpoint, Cluster, Experiment, Run
from tests.clusters.on_ray import cluster_of
from tests.clusters.ray import RayHead
from tests.clusters.test_slurm_trains import SMALL, curve, filled_in, trained
from tests.runs.calling import calls
from tests.runs.clusters import attempt_of


@pytest.fixture
def clusters(local: Cluster, ray: RayHead, tmp_path: Path, settings: Settings) -> Cluster:
    """This machine and the Ray; the second is returned."""
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"
    far = cluster_of(ray)
    far.config = {**far.config, "env": {"HF_HUB_OFFLINE": "1"}}
    far.save()
    return far


def swept(ada: User) -> tuple[Run, Run]:
    """One sweep over where it runs: here, and on Ray."""
    body = {"experiment_name": "Concise", "preset": "es-micro", "config": SMALL, "seeds": [0]}
    body["grid"] = {"compute.cluster": ["local", "far"]}
    answer = calls(ada, "launch").post("/api/v1/sweeps", body, content_type="application/json")
    assert answer.status_code == 201, answer.content
    here, far = Run.objects.filter(sweep__isnull=False).order_by("pk")
    return here, far


def test_es_on_ray_is_es_here_to_the_bit(
    ada: User, ada_client: Client, experiment: Experiment, clusters: Cluster
) -> None:
    runs = *swept(ada), filled_in(ada_client, experiment, "far")
    here, far, form = (trained(run) for run in runs)
    for run in (far, form):
        assert attempt_of(run).native_id == attempt_of(run).key and attempt_of(run).cluster == clusters
    saved = [dict(Checkpoint.objects.filter(run=run).values_list("step", "sha256")) for run in (here, far, form)]
    assert saved[0] == saved[1] == saved[2] and set(saved[0]) >= {1, 2}
    for key in ("reward/mean", "kl", "es/update_norm"):
        assert curve(here, key) == curve(far, key) == curve(form, key) != []
