"""The nodes of a real Slurm: read by a tick, and the limit of what a launch may request."""

from __future__ import annotations

from pathlib import Path

import pytest

from runs.clusters.inventory import inventory_of
from runs.models import Cluster, Experiment
from tests.clusters.scripted_slurm import (
    OVER_SSH,
    ScriptedSlurm,
    launch_run,
    launch_sweep,
    make_slurm_cluster,
    recorded_commands,
)
from tests.clusters.slurm import SlurmCluster
from tests.clusters.slurm.config import CORES, GPU_TYPES, GPUS, MEMORY_MB, NODES
from tests.runs.local_cluster import attempt_of, tick_cluster
from workers.config import ConfigError

pytestmark = pytest.mark.soak


@OVER_SSH
def test_tick_reads_the_nodes_of_slurm(slurm: SlurmCluster, access_config: dict[str, str], db: None) -> None:
    far = tick_cluster(make_slurm_cluster(**access_config))
    shapes = [shape for shape in inventory_of(far).shapes if shape.partition == "main"]
    assert sum(shape.count for shape in shapes) == NODES
    assert {shape.gpu_type for shape in shapes} == set(GPU_TYPES)
    assert {(shape.cores, shape.memory_mb, shape.gpus) for shape in shapes} == {(CORES, MEMORY_MB, GPUS)}


@pytest.mark.parametrize(
    ("compute", "message"),
    [
        ({"nodes": NODES + 1}, f"must be at most {NODES}, not {NODES + 1}: cluster far has no more nodes"),
        ({"cores": CORES + 1}, f"must be at most {CORES}, not {CORES + 1}: no node of cluster far has more"),
        ({"gpus": GPUS + 1}, f"must be at most {GPUS}, not {GPUS + 1}: no node of cluster far has more"),
        ({"memory_mb": MEMORY_MB + 1}, f"must be at most {MEMORY_MB}, not {MEMORY_MB + 1}: no node of cluster far has"),
        (
            {"gpus": 0.5, "gpu_type": "h100"},
            "must be a whole number, not 0.5: no node of cluster far divides its GPUs of type h100 into shards",
        ),
        ({"gpus": 1, "gpu_type": "b200"}, "must be one of a100, h100 on cluster far, or empty, not 'b200'"),
        (
            {"gpus": 1, "gpu_type": "H100", "nodes": 2},
            "must be at most 1, not 2: so many nodes of cluster far have 1 GPU of type H100 each",
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_slurm_without_such_nodes_refuses_the_launch(
    slurm_executor: ScriptedSlurm, experiment: Experiment, compute: dict[str, object], message: str
) -> None:
    tick_cluster(Cluster.objects.get(name="far"))
    with pytest.raises(ConfigError) as error:
        launch_run(experiment, **compute)
    assert message in str(error.value)


def test_silent_slurm_keeps_its_nodes(
    slurm: SlurmCluster, site_disk: Path, db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = tick_cluster(make_slurm_cluster(slurm_conf=str(slurm.conf)))
    Cluster.objects.filter(pk=far.pk).update(
        config={**far.config, "slurm_conf": str(tmp_path / "none.conf")}, inventory_tried_at=None
    )
    # A client without a config waits long for one.
    monkeypatch.setattr("workers.executors.slurm.executor.TIMEOUT_SECONDS", 1.0)
    silent = tick_cluster(Cluster.objects.get(pk=far.pk))
    assert (inventory_of(silent), silent.inventory_tried_at is None) == (inventory_of(far), False)


def test_runs_of_a_sweep_on_several_nodes_are_separate_jobs(
    experiment: Experiment, slurm_executor: ScriptedSlurm
) -> None:
    runs = launch_sweep(experiment, 2, nodes=2)
    recorded_commands.clear()
    tick_cluster(Cluster.objects.get(name="far"))
    submits = [argv for argv in recorded_commands if argv[0] == "sbatch"]
    assert [[word for word in argv if "--array" in word] for argv in submits] == [[], []]
    assert all("--nodes=2" in argv for argv in submits)
    assert len({attempt_of(run).native_id for run in runs}) == 2
