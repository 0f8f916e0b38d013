"""The GPUs that a run can get follow from the stored nodes of its cluster."""

from __future__ import annotations

from typing import Any

import pytest

from runs.launching.gpu_memory.hardware import ClusterGpus, card_gb, find_gpus
from runs.models import Cluster
from tests.cases import each_case
from tests.runs.clusters.stored_inventories import make_cluster, make_clusters
from workers.config.run import ComputeConfig
from workers.executors.base import NodeShape

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")


def gpus_for(cluster: str, **compute: Any) -> ClusterGpus | None:
    return find_gpus(ComputeConfig(cluster=cluster, **compute), Cluster.objects.get(name=cluster))


@each_case(
    ("gpu_type", "gb"),
    [
        ("h100", 80), ("nvidia_h200", 141), ("NVIDIA-L40S", 48), ("a100-40gb", 40), ("nvidia_a100_80gb_pcie", 80),
        ("h100_nvl_94gb", 94), ("T4", 16), ("a100", None), ("gfx942", None), ("", None),
        ("1g.10gb", 10), ("nvidia_a100_80gb_pcie_3g.40gb", 40), ("1g.10gb+me", 10), ("2080ti", 11), ("3090", 24),
    ],
)  # fmt: skip
def test_memory_follows_from_the_type_of_gpu(gpu_type: str, gb: float | None) -> None:
    assert card_gb(gpu_type) == gb


def test_run_stays_in_its_partition() -> None:
    make_clusters()
    assert gpus_for("far", gpus=8) == ClusterGpus(4, 2, 16, None)
    assert gpus_for("far", gpus=8, partition="gpu") == ClusterGpus(8, 2, 64, 80.0)


def test_other_type_of_gpu_is_reported() -> None:
    make_clusters()
    assert gpus_for("far", gpus=4, partition="gpu", gpu_type="a100") == ClusterGpus(8, 2, 64, 80.0, has_gpu_type=False)


def test_cluster_without_gpus_has_none() -> None:
    make_clusters()
    assert gpus_for("cpus", gpus=4) == ClusterGpus(0, 0, 4)


def test_unknown_nodes_are_not_assumed() -> None:
    Cluster.objects.create(name="new", kind="slurm")
    make_cluster("elastic", "ray", NodeShape(1, 8, 0), config={"autoscales": True})
    assert gpus_for("new", gpus=4) is None
    assert gpus_for("elastic", gpus=4) is None
