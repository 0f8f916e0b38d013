"""The share of a GPU that a job gets is planned when it is submitted, and stored with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runs import launching
from runs.launching.gpu_memory.plan import Models, plan_on_card
from runs.launching.gpu_memory.shares import JobGpu, plan_job_gpu
from runs.launching.submit import prepare, spec_of
from runs.models import Attempt, Cluster, Experiment, Run
from tests.cases import each_case
from tests.runs.local_cluster import attempt_of
from tests.runs.model_files import QWEN2_7B, write_model_config
from tests.workers.gpus.fake_driver import GPU_IS_LOST, FakeDriver, FakeGpu, use_driver
from workers.config import RunConfig, preset
from workers.executors.base import Spec
from workers.gpus.torch_build import TorchBuild
from workers.memory_plan import GB, CardPlan, claimed_bytes

pytestmark = pytest.mark.django_db
SMOLLM2 = {
    "model_type": "llama", "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
    "num_attention_heads": 9, "num_key_value_heads": 3, "vocab_size": 49152, "tie_word_embeddings": True,
}  # fmt: skip


@pytest.fixture(autouse=True)
def models(local: Cluster, tmp_path: Path) -> None:
    """Let runs name a model of 135 M parameters and one of 7 B."""
    write_model_config(tmp_path / "small", SMOLLM2)
    write_model_config(tmp_path / "large", QWEN2_7B)
    local.config |= {"data_paths": [str(tmp_path)]}
    local.save()


@pytest.fixture
def cards(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    """Let this machine have two GPUs, the smaller one with 40 GB."""
    monkeypatch.setattr("workers.gpus.offer.installed_torch", lambda: TorchBuild("2.13.0", "13.0"))
    gpus = FakeGpu("GPU-a"), FakeGpu("GPU-b", "NVIDIA A100", memory_mb=40_960)
    return use_driver(monkeypatch, FakeDriver(*gpus))


def launch(experiment: Experiment, model: str, gpus: Any) -> Run:
    config = preset("es-micro").config | {"model": {"path": model}, "compute": {"gpus": gpus}}
    return launching.create_run(
        experiment=experiment, person=experiment.owner, config=RunConfig.from_json(config), name="small"
    )


def prepared(experiment: Experiment, model: str = "small", *, gpus: Any) -> tuple[Attempt, Spec]:
    """Return the attempt of a new run as it is stored before its cluster is called, and its spec."""
    attempt = attempt_of(launch(experiment, model, gpus))
    prepare(attempt)
    attempt = attempt_of(attempt.run)
    return attempt, spec_of(attempt)


def notes_of(attempt: Attempt) -> list[str]:
    """Return the events that tell which share auto takes."""
    return list(attempt.events.filter(why__startswith="compute.gpus is auto: ").values_list("why", flat=True))


def test_auto_takes_share_by_planned_memory(experiment: Experiment, cards: FakeDriver) -> None:
    attempt, spec = prepared(experiment, gpus="auto")
    share = attempt.gpu_share
    assert share is not None and 0.02 <= share < 0.5
    # The plan of the largest GPU needs most, and the share is of the smallest, so that it is enough on every one.
    assert attempt.gpu_memory_mb == int(share * 40_960)
    models, config = Models(experiment.owner), attempt.run.run_config
    plans = [plan_on_card(config, models, mb * 2**20 / GB) for mb in (143_771, 40_960)]
    assert all(isinstance(plan, CardPlan) and claimed_bytes(plan) < attempt.gpu_memory_mb * 2**20 for plan in plans)
    assert (spec.gpus, spec.gpu_memory_mb, spec.runs_concurrently) == (share, attempt.gpu_memory_mb, True)
    assert spec.env is not None
    assert spec.env["ESWEB_GPU_SHARE"] == f"{share:g}" and spec.env["ESWEB_GPU_MEMORY_MB"] == str(attempt.gpu_memory_mb)
    assert attempt.compute.all_gpus == share
    [note] = notes_of(attempt)
    assert note.startswith(f"compute.gpus is auto: takes {share:g} of a GPU for")


def test_repeated_submission_notes_share_once(experiment: Experiment, cards: FakeDriver) -> None:
    attempt, _ = prepared(experiment, gpus="auto")
    prepare(attempt)
    assert len(notes_of(attempt)) == 1


def test_auto_above_half_of_gpu_takes_all_of_it(experiment: Experiment, cards: FakeDriver) -> None:
    attempt, spec = prepared(experiment, "large", gpus="auto")
    assert (attempt.gpu_share, attempt.gpu_memory_mb, attempt.compute.gpus) == (1, 0, 1)
    assert (spec.gpus, spec.runs_concurrently) == (1, False)
    assert spec.env is not None and "ESWEB_GPU_SHARE" not in spec.env


def test_auto_without_config_of_model_takes_whole_gpu(experiment: Experiment, cards: FakeDriver) -> None:
    attempt, spec = prepared(experiment, "nowhere/unknown", gpus="auto")
    assert (attempt.gpu_share, spec.gpus) == (1, 1)
    [note] = notes_of(attempt)
    assert "takes a whole GPU: This machine has no" in note


def test_auto_without_known_gpus_takes_whole_one(experiment: Experiment, cards: FakeDriver) -> None:
    attempt = attempt_of(launch(experiment, "small", "auto"))
    for gpu in cards.gpus:
        gpu.code = GPU_IS_LOST
    prepare(attempt)
    attempt = attempt_of(attempt.run)
    assert (attempt.gpu_share, spec_of(attempt).gpus) == (1, 1)
    [note] = notes_of(attempt)
    assert note.endswith("the memory of the cluster's GPUs is not known")


def test_auto_takes_whole_gpu_of_cluster_that_divides_none(experiment: Experiment) -> None:
    far = Cluster.objects.create(name="far", kind="slurm", config={})
    config = RunConfig.from_json(preset("es-micro").config | {"compute": {"cluster": "far", "gpus": "auto"}})
    planned = plan_job_gpu(config, experiment.owner, far)
    assert planned == JobGpu(1, reason="Slurm does not divide the GPUs of far into shards")


def test_fraction_is_stored_as_it_is_stated(experiment: Experiment, cards: FakeDriver) -> None:
    attempt, spec = prepared(experiment, gpus=0.25)
    assert (attempt.gpu_share, attempt.gpu_memory_mb, notes_of(attempt)) == (0.25, 0, [])
    assert (spec.gpus, spec.gpu_memory_mb) == (0.25, 0)
    assert spec.env is not None and spec.env["ESWEB_GPU_SHARE"] == "0.25"


@each_case("gpus", [0, 1])
def test_job_that_shares_no_gpu_has_no_share(experiment: Experiment, cards: FakeDriver, gpus: int) -> None:
    attempt, spec = prepared(experiment, gpus=gpus)
    assert (attempt.gpu_share, attempt.gpu_memory_mb, spec.runs_concurrently) == (None, 0, False)
    # Other programs may hold what a whole GPU has beyond the plan.
    assert (spec.gpu_memory_mb > 0) == (gpus == 1)
