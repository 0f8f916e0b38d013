"""Jobs that share GPUs, on a real Slurm by its shards and on a real Ray by its fractions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.clusters.ray import RayHead
from tests.clusters.ray.head import GPUS as RAY_GPUS
from tests.clusters.scripted_ray import ScriptedRay
from tests.clusters.scripted_slurm import ScriptedSlurm
from tests.clusters.slurm import SlurmCluster
from tests.clusters.slurm.config import GPU_TYPES, GPUS
from tests.waiting import wait_until
from tests.workers.attempts import STAYS_SECONDS
from workers.executors.base import Observation, Spec
from workers.executors.states import State

pytestmark = pytest.mark.soak
NAMES_ITS_GPU = f"""
import os, time
open('started.part', 'w').write(os.environ['CUDA_VISIBLE_DEVICES'])
os.rename('started.part', 'started')
time.sleep({STAYS_SECONDS})
"""
Poll = Callable[[list[str]], Mapping[str, Observation | None]]


def job(folder: Path, name: str, gpus: float, **needs: Any) -> Spec:
    return Spec(f"esweb-{name}-a1", folder / "runs" / name / f"esweb-{name}-a1", ("true",), gpus=gpus, **needs)


def visible_gpus(specs: list[Spec]) -> list[str]:
    """Return the GPUs that the programs of these jobs see, once all of them run."""
    files = [spec.directory / "started" for spec in specs]
    wait_until(lambda: all(file.exists() for file in files), "the jobs to start together")
    return [file.read_text() for file in files]


def waiting_job(poll: Poll, spec: Spec) -> Observation:
    """Return the job, which does not run."""
    seen = poll([spec.key])[spec.key]
    assert seen is not None and seen.state == State.QUEUED and not (spec.directory / "started").exists()
    return seen


def test_slurm_runs_jobs_on_the_shards_that_are_left(slurm: SlurmCluster, tmp_path: Path) -> None:
    executor = ScriptedSlurm(slurm.conf, tmp_path / "queue")
    executor.program = NAMES_ITS_GPU
    # Three of the four shards of every divided GPU, and then the one that is left of one.
    all_gpus = GPU_TYPES.count("a100") * GPUS
    large = [job(tmp_path, f"large{n}", 0.75, memory_mb=100) for n in range(all_gpus + 1)]
    small = job(tmp_path, "small", 0.25, memory_mb=100)
    for spec in large[:-1]:
        executor.submit(spec)
    assert sorted(visible_gpus(large[:-1])) == sorted([*map(str, range(GPUS))] * GPU_TYPES.count("a100"))
    executor.submit(large[-1])
    executor.submit(small)
    assert visible_gpus([small])[0] in map(str, range(GPUS))
    assert waiting_job(executor.poll, large[-1]).reason.startswith("waiting: it is next, once enough cores, memory and")


def test_ray_runs_jobs_on_fractions_of_its_gpus(ray: RayHead, tmp_path: Path) -> None:
    executor = ScriptedRay(ray, tmp_path / "queue")
    executor.program = NAMES_ITS_GPU
    halves = [job(tmp_path, f"half{n}", 0.5) for n in range(2 * RAY_GPUS + 1)]
    for spec in halves[:-1]:
        executor.submit(spec)
    assert sorted(visible_gpus(halves[:-1])) == sorted([*map(str, range(RAY_GPUS))] * 2)
    executor.submit(halves[-1])
    assert waiting_job(executor.poll, halves[-1]).reason.startswith("waiting for 1 core and 0.5 of one GPU, or to sta")
    executor.cancel(halves[-1].key, 0.0)
