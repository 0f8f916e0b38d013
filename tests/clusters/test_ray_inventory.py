"""The nodes of a real Ray: read by a tick, and the limit of what a launch may request."""

from __future__ import annotations

from pathlib import Path

import pytest

from runs.clusters.inventory import inventory_of
from runs.models import Cluster, Experiment
from tests.clusters.ray import RayHead
from tests.clusters.scripted_ray import make_ray_cluster
from tests.runs.local_cluster import run_of, tick_cluster
from workers.config import ConfigError

pytestmark = pytest.mark.soak


def test_tick_reads_the_nodes_of_ray(ray: RayHead, db: None, experiment: Experiment, site_disk: Path) -> None:
    rays = tick_cluster(make_ray_cluster(ray))
    (shape,) = inventory_of(rays).shapes
    assert (shape.count, shape.partition) == (1, "") and shape.cores >= 1
    with pytest.raises(ConfigError, match=r"must be at most 1, not 2: cluster \w+ has no more nodes"):
        run_of(experiment, cluster=rays.name, nodes=2)
    Cluster.objects.filter(pk=rays.pk).update(config={**rays.config, "autoscales": True})
    assert run_of(experiment, cluster=rays.name, nodes=2)
