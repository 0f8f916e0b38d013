"""The test of a cluster, on a real Slurm: every step is reported, and a failed step names the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runs.clusters.connection_test import advance_test, begin_test
from runs.models import Cluster, ClusterTest
from tests.clusters.scripted_slurm import OVER_SSH, make_slurm_cluster
from tests.clusters.slurm import SlurmCluster
from tests.waiting import wait_until

pytestmark = pytest.mark.soak


@pytest.fixture
def cluster(slurm: SlurmCluster, access_config: dict[str, str], db: None, site_disk: Path) -> Cluster:
    return make_slurm_cluster(**access_config)


def run_cluster_test(cluster: Cluster) -> ClusterTest:
    test = begin_test(cluster, None)
    wait_until(lambda: advance_test(test), "the test of the cluster to end", details=lambda: test.steps)
    return test


def failed_step(cluster: Cluster, **config: Any) -> str:
    """Return the step that fails with this in the cluster's config, and its message."""
    Cluster.objects.filter(pk=cluster.pk).update(config={**cluster.config, **config})
    cluster.refresh_from_db()
    last = run_cluster_test(cluster).steps[-1]
    assert last["failed"]
    return f"{last['name']}: {last['said']}"


@OVER_SSH
def test_cluster_test_passes_all_steps(cluster: Cluster, tmp_path: Path) -> None:
    test = run_cluster_test(cluster)
    assert not test.has_failed, test.steps
    assert [s["name"] for s in test.steps] == [
        "reach", "commands", "nodes", "folder", "submit", "ran", "records", "environment", "orphans",
    ]  # fmt: skip
    messages = {s["name"]: s["said"] for s in test.steps}
    assert messages["commands"].startswith("slurm") and messages["submit"].startswith("job ")
    assert "CPython 3" in messages["environment"] and "torch" in messages["environment"]
    assert not list((tmp_path / "runs").iterdir())


def test_refused_config_is_named_with_remedy(cluster: Cluster) -> None:
    assert failed_step(cluster, partition="nosuch").startswith("submit: ")
    cluster.config.pop("partition")
    assert "the interpreter is not on the node: see python" in failed_step(cluster, python="/opt/none/python")


@OVER_SSH
def test_failed_connection_is_named_with_remedy(cluster: Cluster) -> None:
    assert failed_step(cluster, folder="/proc/none").startswith("folder: ")
    assert failed_step(cluster, address="ssh://root@127.0.0.1:1").startswith("reach: ")
