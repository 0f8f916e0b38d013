"""The whole way on a real Ray, with the real trainer: by a sweep, followed, and the same to the bit."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs import launching
from runs.models import Cluster, Experiment
from tests.clusters.ray import RayHead
from tests.clusters.ray_cluster import cluster_of
from tests.clusters.training import called_for, filled_in, result, swept, train
from tests.runs.local_cluster import attempt_of


@pytest.fixture
def clusters(local: Cluster, ray: RayHead, our_disk: Path) -> Cluster:
    """This machine and the Ray; the second is returned."""
    far = cluster_of(ray)
    far.config = {**far.config, "env": {"HF_HUB_OFFLINE": "1"}}
    far.save()
    return far


def test_es_on_ray_is_es_here_to_the_bit(
    ada: User, ada_client: Client, experiment: Experiment, clusters: Cluster
) -> None:
    # One sweep over where it runs: here, and on Ray.
    here, in_sweep = swept(ada, {"compute.cluster": "local"}, {"compute.cluster": "far"})
    for alike in (filled_in(ada_client, experiment, "far"), called_for(ada, "far")):
        assert alike.config == in_sweep.config and attempt_of(alike).cluster == clusters
        launching.request_cancel(alike)
    train([here, in_sweep])
    assert attempt_of(in_sweep).native_id == attempt_of(in_sweep).key and attempt_of(in_sweep).cluster == clusters
    assert result(in_sweep) == result(here)
