"""A GRPO run that is stopped after any step and resumed ends with the bits of one that was never stopped."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.workers.engines.es.runs import Conciseness, StopsAfter, records_of
from tests.workers.engines.gpu_time import check_gpu_seconds
from workers.checkpoint_folders import EVALUATION_DUE, TRAINER
from workers.config import ModelConfig, RunConfig
from workers.engines import grpo
from workers.engines.context import Context, Stopped, latest_checkpoint, step_of
from workers.engines.grpo.checkpoint import PROGRESS, STATE, read_progress
from workers.engines.grpo.exactness import resume_message
from workers.engines.not_resumable import NotResumable
from workers.engines.stop import Interrupted, Stop
from workers.evaluation import Evaluator
from workers.models import Loaded, load
from workers.models.save import weights_sha256
from workers.records import Alert, Metric, RecordWriter, next_epoch

# Warnings about how TRL uses transformers, and peft its configs, are theirs to fix.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
STEPS = 5
SMALL = {
    "max_steps": STEPS,
    "learning_rate": 0.002,
    "num_generations": 4,
    "per_device_train_batch_size": 8,
    "max_completion_length": 8,
    "save_steps": 0,
    "keep": "all",
}
AN_EVALUATION = 2 * 2
PLANS: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "two passes over each generation": ({"num_iterations": 2, "beta": 0.02}, (2, 3)),
    "a generation for four passes, two a step": (
        {"gradient_accumulation_steps": 2, "extra": {"steps_per_generation": 4}},
        (3,),
    ),
    "three passes, a linear schedule, lora": (
        {"num_iterations": 3, "lr_scheduler_type": "linear", "lora": {"rank": 2}},
        (2,),
    ),
}
"""Options, and the steps to stop after: step 2 of two passes ends a generation, the others are within a generation."""


def run(
    micro: Loaded, directory: Path, task: Any = None, stop: Stop | None = None, every: int = 0, **options: Any
) -> None:
    """Train in `directory`, resuming from its latest checkpoint."""
    plan = {"every": every, "prompts": 2, "samples": 1, "responses": False}
    config = RunConfig.from_json({"method": "grpo", "seed": 3, "grpo": SMALL | options, "evaluation": plan})
    loaded = replace(micro, model=copy.deepcopy(micro.model))
    task = task or Conciseness()
    evaluator = Evaluator(loaded, task, config.evaluation, config.max_new_tokens)
    torch.manual_seed(config.seed)
    with RecordWriter(directory, next_epoch(directory)) as records:
        resume = latest_checkpoint(directory)
        grpo.train(Context(config, directory, records, loaded, task, evaluator, stop or Stop(), resume))


def end(directory: Path) -> str:
    return weights_sha256(directory / f"checkpoints/step-{STEPS:06d}")


def stream(directory: Path, *epochs: int) -> list[tuple[int, dict[str, float]]]:
    """Return TRL's metrics by step, without values that depend on the clock."""
    metrics = [m for epoch in epochs for m in records_of(directory, Metric, epoch) if "train/loss" in m.values]
    return [(m.step, {k: v for k, v in m.values.items() if "time" not in k} | m.axes) for m in metrics]


@pytest.mark.parametrize(("options", "stops"), PLANS.values(), ids=PLANS.keys())
def test_run_stopped_at_any_step_resumes_exactly(
    micro: Loaded, tmp_path: Path, options: dict[str, Any], stops: tuple[int, ...]
) -> None:
    run(micro, tmp_path / "straight", save_steps=1, **options)
    for step in stops:
        cut = tmp_path / f"cut-{step}"
        (cut / "checkpoints").mkdir(parents=True)
        saved = tmp_path / f"straight/checkpoints/step-{step:06d}"
        (cut / "checkpoints" / saved.name).symlink_to(saved)
        run(micro, cut, **options)
        assert end(cut) == end(tmp_path / "straight"), f"stopped after step {step}"
        assert stream(cut, 0) == stream(tmp_path / "straight", 0)[step:]
        (alert,) = records_of(cut, Alert)
        assert (alert.level, alert.step, alert.message) == ("info", step, resume_message(step, []))


@pytest.fixture(scope="module")
def straight(micro: Loaded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a run with a generation a step, evaluated every second one."""
    directory = tmp_path_factory.mktemp("straight")
    run(micro, directory, every=2)
    return directory


def test_stopped_run_saves_at_end_of_step(micro: Loaded, straight: Path, tmp_path: Path) -> None:
    """Its two attempts have other numbers of GPUs, which changes the GPU seconds alone."""
    task = StopsAfter(2 * AN_EVALUATION + 2 * 8 + 1)
    with pytest.raises(Stopped, match="after step 3 of 5"):
        run(replace(micro, gpus=8), tmp_path, task, task.stop, every=2)
    run(replace(micro, gpus=2), tmp_path, every=2)
    assert end(tmp_path) == end(straight)
    resumed, expected = (
        [(step, {k: v for k, v in values.items() if k != "gpu_seconds"}) for step, values in stream(folder, *epochs)]
        for folder, epochs in ((tmp_path, (0, 1)), (straight, (0,)))
    )
    assert resumed == expected
    check_gpu_seconds(tmp_path, (8, 2), steps=STEPS)


@pytest.mark.parametrize("step", [2, STEPS])
def test_interrupted_evaluation_is_repeated(micro: Loaded, straight: Path, tmp_path: Path, step: int) -> None:
    before = sum(1 for s in (0, 2, 4) if s < step) * AN_EVALUATION
    task = StopsAfter(before + step * 8 + 1)
    with pytest.raises(Stopped, match=f"after step {step} of 5"):
        run(micro, tmp_path, task, task.stop, every=2)
    saved = latest_checkpoint(tmp_path)
    assert saved is not None
    assert step_of(saved) == step
    assert (saved / EVALUATION_DUE).exists()

    run(micro, tmp_path, every=2)

    evaluated = [m for epoch in (0, 1) for m in records_of(tmp_path, Metric, epoch) if "kl" in m.values]
    assert [m.step for m in evaluated] == [0, 2, 4, 5]
    assert end(tmp_path) == end(straight)
    as_planned = [m for m in records_of(straight, Metric) if "kl" in m.values]
    assert [m.values for m in evaluated] == [m.values for m in as_planned]


def test_run_stopped_before_first_step_saves_nothing(micro: Loaded, tmp_path: Path) -> None:
    task = StopsAfter(1)
    with pytest.raises(Interrupted):
        run(micro, tmp_path, task, task.stop)
    assert latest_checkpoint(tmp_path) is None


def test_checkpoint_that_holds_seconds_counts_them_with_the_gpus_of_now(straight: Path, tmp_path: Path) -> None:
    folder = tmp_path / "step-000005"
    folder.mkdir()
    saved = straight / "checkpoints/step-000005"
    (folder / STATE).write_bytes((saved / TRAINER / STATE).read_bytes())
    old = json.loads((saved / TRAINER / PROGRESS).read_text())
    del old["gpu_seconds"]
    (folder / PROGRESS).write_text(json.dumps(old | {"seconds": 1.5}))
    assert read_progress(folder, 4, lora=False).gpu_seconds == 6.0


def test_inexact_resume_names_its_reasons() -> None:
    assert resume_message(7, ["the sea is rough", "it rains"]) == (
        "resumes from step 7, but not bit for bit: the sea is rough; it rains."
    )


def test_state_stays_with_newest_checkpoint_until_last_step(tmp_path: Path) -> None:
    half = load(ModelConfig(path="micro", device="cpu", dtype="bfloat16"), needs_transformers=True)
    for name in ("kept", "last"):
        task = StopsAfter(AN_EVALUATION + 2 * 8 + 1)
        with pytest.raises(Stopped, match="after step 3 of 5"):
            run(half, tmp_path / name, task, task.stop, save_steps=1, keep="all" if name == "kept" else name)
    folders = [tmp_path / "last/checkpoints" / f"step-{step:06d}" for step in (2, 3, 5)]
    assert [(folder / TRAINER).exists() for folder in folders] == [False, True, False]
    assert {tensor.dtype for tensor in weights_of(folders[1]).values()} == {torch.bfloat16}
    with pytest.raises(NotResumable, match=r"step-000002 holds weights only: it lacks the optimiser's state, .* a new"):
        (tmp_path / "last" / "run.json").write_text('{"method": "grpo"}')
        read_progress(folders[0], 1, lora=False)

    run(half, tmp_path / "last", save_steps=1, keep="last")
    run(half, tmp_path / "kept", save_steps=1)

    assert [(folder / TRAINER).exists() for folder in folders] == [False, False, False]
    master = weights_of(tmp_path / "kept/checkpoints/step-000005" / TRAINER)
    trained = weights_of(folders[2])
    assert all(torch.equal(trained[name], master[name]) for name in trained.keys() | master.keys())
    assert {tensor.dtype for tensor in trained.values()} == {torch.float32}


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    tensors: dict[str, torch.Tensor] = load_file(folder / "model.safetensors")
    return tensors
