"""The test of a cluster, on a real Ray: it passes, and what fails says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from runs.clusters.connection_test import steps
from runs.models import Cluster
from tests.clusters.ray import RayHead
from tests.clusters.ray_cluster import cluster_of
from tests.clusters.test_slurm_is_tried import broken, tried


@pytest.fixture
def cluster(ray: RayHead, db: None, our_disk: Path) -> Cluster:
    return cluster_of(ray)


def test_a_whole_cluster_passes_and_each_thing_that_is_wrong_is_named(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = tried(cluster)
    assert not test.has_failed, test.steps
    assert [step["name"] for step in test.steps] == ["reach", "submit", "ran", "records", "environment"]
    (tmp_path / "wrong").write_text("nonsense")
    token = cluster.config["token_file"]
    refused = broken(cluster, token_file=str(tmp_path / "wrong"))
    assert refused.startswith("reach: ") and "does not let us in: see token_file" in refused
    # So long a file of a job that has ended might still be on its way.
    monkeypatch.setattr(steps, "SECONDS", 1.0)
    assert "the node has no such interpreter" in broken(cluster, token_file=token, python="/opt/none/python")
