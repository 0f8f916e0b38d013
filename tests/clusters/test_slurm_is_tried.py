"""The test of a cluster, on a real Slurm: every step is told, and what fails says what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runs.clusters.connection_test import advance_test, begin_test
from runs.models import Cluster, ClusterTest
from tests.clusters.far_slurm import OVER_SSH, cluster_of
from tests.clusters.slurm import SlurmCluster
from tests.waiting import wait_until


@pytest.fixture
def cluster(slurm: SlurmCluster, reached: dict[str, str], db: None, our_disk: Path) -> Cluster:
    return cluster_of(**reached)


def tried(cluster: Cluster) -> ClusterTest:
    test = begin_test(cluster, None)
    wait_until(lambda: advance_test(test), "the test of the cluster to end", details=lambda: test.steps)
    return test


def broken(cluster: Cluster, **config: Any) -> str:
    """The step that fails with this in its config, and why."""
    Cluster.objects.filter(pk=cluster.pk).update(config={**cluster.config, **config})
    cluster.refresh_from_db()
    last = tried(cluster).steps[-1]
    assert last["failed"]
    return f"{last['name']}: {last['said']}"


@OVER_SSH
def test_a_whole_cluster_passes_step_by_step(cluster: Cluster, tmp_path: Path) -> None:
    test = tried(cluster)
    assert not test.has_failed, test.steps
    assert [s["name"] for s in test.steps] == [
        "reach", "commands", "folder", "submit", "ran", "records", "environment", "orphans",
    ]  # fmt: skip
    said = {s["name"]: s["said"] for s in test.steps}
    assert said["commands"].startswith("slurm") and said["submit"].startswith("job ")
    assert "CPython 3" in said["environment"] and "torch" in said["environment"]
    assert not list((tmp_path / "runs").iterdir())


def test_what_the_cluster_refuses_is_named_with_what_to_do(cluster: Cluster) -> None:
    assert broken(cluster, partition="nosuch").startswith("submit: ")
    cluster.config.pop("partition")
    assert "the node has no such interpreter: see python" in broken(cluster, python="/opt/none/python")


@OVER_SSH
def test_a_way_that_fails_is_named_with_what_to_do(cluster: Cluster) -> None:
    assert broken(cluster, folder="/proc/none").startswith("folder: ")
    assert broken(cluster, address="ssh://root@127.0.0.1:1").startswith("reach: ")


def test_two_who_ask_get_one_test(db: None) -> None:
    cluster = cluster_of()
    first = begin_test(cluster, None)
    assert begin_test(cluster, None) == first
