"""Last step of the test of a cluster on this machine: train the tiny model on one of its GPUs, beside other runs."""

from __future__ import annotations

import math
from typing import Any

from runs.clusters.connection_test.trial import StepFailed, StepPending, Trial, check_ending, read_records
from runs.clusters.executors import cache_of, python_of
from runs.clusters.offered_gpus import is_none_wanted, offer_of
from workers.attempt import write_json
from workers.config import RunConfig, preset
from workers.executors.base import Spec
from workers.gpus import Card
from workers.records import Environment, Metric

ITERATIONS = 3
MEMORY_MB = 4000
"""Memory for the tiny model, with what CUDA itself takes."""
TIME_LIMIT_SECONDS = 240
CHANGES: dict[str, dict[str, Any]] = {
    "model": {"device": "cuda"},
    "es": {
        "iterations": ITERATIONS, "population": 4, "prompts": 2, "max_new_tokens": 16, "checkpoint_every": 0,
    },
    "evaluation": {"every": 0, "prompts": 2, "samples": 0},
}  # fmt: skip
"""Changes of the preset es-tiny."""


def train_on_gpu(trial: Trial) -> str:
    """Train on a GPU, with a share of it that leaves room for other runs. A machine without GPUs passes."""
    job = trial.second_job()
    if job.executor.find(job.key) is None:
        offer = offer_of(job.cluster)
        if not offer.cards and (not offer.has_driver or is_none_wanted(job.cluster)):
            return f"no GPUs: {offer.reason}"
        if not offer.cards:
            raise StepFailed(f"no run can use a GPU: {offer.reason}")
        _submit(job, offer.cards)
    seconds = check_ending(job)
    records = read_records(job)
    steps = {record.step for record in records if isinstance(record, Metric) and record.step}
    names = [gpu.name for record in records if isinstance(record, Environment) for gpu in record.gpus]
    if len(steps) < ITERATIONS:
        raise StepPending(f"its records: {len(steps)} of {ITERATIONS} steps have arrived")
    return f"{ITERATIONS} steps on {names[0] if names else 'a GPU'} in {seconds:.0f} s, with the start of the program"


def _submit(job: Trial, cards: tuple[Card, ...]) -> None:
    share = max(map(_share_of, cards))
    sections = {name: {**preset("es-tiny").config.get(name, {}), **changes} for name, changes in CHANGES.items()}
    config = RunConfig.from_json({**preset("es-tiny").config, **sections, "compute": {"gpus": share}})
    job.directory.mkdir(parents=True, exist_ok=True)
    write_json(job.directory / "run.json", config.to_json(), sync=True)
    job.executor.submit(
        Spec(
            job.key,
            job.directory,
            (python_of(job.cluster), "-m", "workers.train", "run.json", "--out", "."),
            gpus=share,
            gpu_memory_mb=MEMORY_MB if share < 1 else 0,
            time_limit_seconds=TIME_LIMIT_SECONDS,
            env={"ESWEB_CACHE": cache_of(job.cluster)},
        )
    )


def _share_of(card: Card) -> float:
    """Return the share of a GPU that the job needs; a whole one if the memory of the GPU is not known."""
    share = math.ceil(100 * MEMORY_MB / card.memory_mb) / 100 if card.memory_mb else 1
    return share if share <= 0.5 else 1
