"""Shares of GPUs on a fake Slurm: jobs request shards of one GPU, and none is sent while the nodes are unknown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runs.clusters import executor_for
from tests.clusters.fakes.far import HERE, Far
from workers.executors.base import NotBegun, Rejected, Spec
from workers.executors.shell import Reply
from workers.executors.slurm import Slurm

pytestmark = HERE


def slurm_of(far: Far) -> Slurm:
    """Return the executor of the fake's cluster."""
    executor = executor_for(far.row)
    assert isinstance(executor, Slurm)
    return executor


def spec(folder: Path, name: str, gpus: float, gpu_type: str = "") -> Spec:
    run = folder / "runs" / name
    return Spec(f"esweb-{name}-a1", run / f"esweb-{name}-a1", ("true",), gpus=gpus, gpu_type=gpu_type)


def requested(far: Far) -> list[str]:
    """Return what the jobs of the fake request of generic resources."""
    return [job.options["--gres"] for job in far.fake.jobs]


def test_job_requests_as_many_shards_as_its_share_needs(far: Far, tmp_path: Path) -> None:
    executor = slurm_of(far)
    for number, (gpus, gpu_type) in enumerate(((0.25, ""), (0.3, "a100"), (0.999, ""), (2, "a100"))):
        executor.submit(spec(tmp_path, f"run{number}", gpus, gpu_type))
    assert requested(far) == ["shard:1", "shard:a100:2", "shard:4", "gpu:a100:2"]
    # Whole GPUs need no question for the nodes.
    assert far.fake.count("sinfo") == 3


def test_array_requests_shards_by_one_question(far: Far, tmp_path: Path) -> None:
    slurm_of(far).submit_together([spec(tmp_path, name, 0.5) for name in ("a", "b")])
    assert requested(far) == ["shard:2", "shard:2"] and far.fake.count("sinfo") == 1


def test_job_without_shards_is_refused_and_not_sent(far: Far, tmp_path: Path) -> None:
    executor = slurm_of(far)
    with pytest.raises(Rejected, match=r"no shards of GPUs .* set compute.gpus to a whole number$"):
        executor.submit(spec(tmp_path, "run", 0.5, "h100"))
    far.fake.replies["sinfo"] = Reply(1, "", "sinfo: error: no answer\n")
    with pytest.raises(NotBegun, match=r"^sinfo: sinfo: error: no answer$"):
        executor.submit(spec(tmp_path, "run", 0.5))
    executor.site = replace(executor.site, partition="nosuch")
    with pytest.raises(Rejected, match="no shards of GPUs"):
        executor.submit(spec(tmp_path, "run", 0.5))
    assert far.fake.count("sbatch") == 0
