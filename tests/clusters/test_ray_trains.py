"""A whole training on a real Ray, with the real trainer: launched by a sweep, followed, equal bit by bit, evaluated."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs import launching
from runs.models import Cluster, Experiment
from tests.clusters.ray import RayHead
from tests.clusters.scripted_ray import make_ray_cluster
from tests.clusters.training import (
    check_evaluation,
    launch_by_api,
    launch_by_form,
    launch_by_sweep,
    launch_evaluation,
    read_result,
    train,
)
from tests.runs.local_cluster import attempt_of

pytestmark = pytest.mark.soak


@pytest.fixture
def clusters(local: Cluster, ray: RayHead, site_disk: Path) -> Cluster:
    """Set up this machine and the Ray as clusters; return the Ray."""
    remote = make_ray_cluster(ray)
    remote.config = {**remote.config, "env": {"HF_HUB_OFFLINE": "1"}}
    remote.save()
    return remote


def test_es_on_ray_equals_local_es(ada: User, ada_client: Client, experiment: Experiment, clusters: Cluster) -> None:
    # One sweep over the cluster: this machine, and Ray.
    local_run, in_sweep = launch_by_sweep(ada, {"compute.cluster": "local"}, {"compute.cluster": "far"})
    for other in (launch_by_form(ada_client, experiment, "far"), launch_by_api(ada, "far")):
        assert other.config == in_sweep.config and attempt_of(other).cluster == clusters
        launching.request_cancel(other)
    train([local_run, in_sweep])
    assert attempt_of(in_sweep).native_id == attempt_of(in_sweep).key and attempt_of(in_sweep).cluster == clusters
    assert read_result(in_sweep) == read_result(local_run)


def test_evaluation_on_ray_equals_what_the_training_recorded(ada: User, clusters: Cluster) -> None:
    training = launch_by_api(ada, "far")
    train([training])
    evaluation = launch_evaluation(ada, training)
    train([evaluation])
    check_evaluation(evaluation, training)
