"""The test of a cluster, on a real Ray: it passes, and a failed step names the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from runs.clusters.connection_test import steps
from runs.models import Cluster
from tests.clusters.ray import RayHead
from tests.clusters.scripted_ray import make_ray_cluster
from tests.clusters.test_slurm_cluster_test import failed_step, run_cluster_test

pytestmark = pytest.mark.soak


@pytest.fixture
def cluster(ray: RayHead, db: None, site_disk: Path) -> Cluster:
    return make_ray_cluster(ray)


def test_cluster_test_passes_and_names_wrong_config(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = run_cluster_test(cluster)
    assert not test.has_failed, test.steps
    assert [step["name"] for step in test.steps] == ["reach", "nodes", "submit", "ran", "records", "environment"]
    (tmp_path / "wrong").write_text("nonsense")
    token = cluster.config["token_file"]
    failure = failed_step(cluster, token_file=str(tmp_path / "wrong"))
    assert failure.startswith("reach: ") and "refuses access: see token_file" in failure
    # The time that the file of a finished job may take to appear.
    monkeypatch.setattr(steps, "SECONDS", 1.0)
    assert "the interpreter is not on the node" in failed_step(cluster, token_file=token, python="/opt/none/python")
