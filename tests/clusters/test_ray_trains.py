"""The whole way on a real Ray, with the real trainer: launched by the form, followed, and the same to the bit."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from runs.models import Checkpoint, Cluster, Experiment
from tests.clusters.on_ray import cluster_of
from tests.clusters.ray import RayHead
from tests.clusters.test_slurm_trains import curve, filled_in, launched, trained
from tests.runs.clusters import attempt_of


@pytest.fixture
def clusters(local: Cluster, ray: RayHead, tmp_path: Path, settings: Settings) -> Cluster:
    """This machine and the Ray; the second is returned."""
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"
    far = cluster_of(ray)
    far.config = {**far.config, "env": {"HF_HUB_OFFLINE": "1"}}
    far.save()
    return far


def test_es_on_ray_is_es_here_to_the_bit(
    ada: User, ada_client: Client, experiment: Experiment, clusters: Cluster
) -> None:
    runs = launched(ada, "local"), filled_in(ada_client, experiment, "far")
    here, far = (trained(run) for run in runs)
    assert attempt_of(far).native_id == attempt_of(far).key and attempt_of(far).cluster == clusters
    saved = [dict(Checkpoint.objects.filter(run=run).values_list("step", "sha256")) for run in (here, far)]
    assert saved[0] == saved[1] and set(saved[0]) >= {1, 2}
    for key in ("reward/mean", "kl", "es/update_norm"):
        assert curve(here, key) == curve(far, key) != []
