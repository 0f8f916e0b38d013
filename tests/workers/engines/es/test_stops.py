"""A run that is stopped at any time saves its state; resumed, it equals the run that was never stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.workers.engines.es.population import digest
from tests.workers.engines.es.runs import StopsAfter, records_of, run
from tests.workers.engines.gpu_time import check_gpu_seconds
from workers.checkpoint_folders import EVALUATION_DUE
from workers.engines.context import Stopped, is_complete, latest_checkpoint, step_of
from workers.engines.es.backend import DecoderBackEnd
from workers.engines.not_resumable import NotResumable
from workers.engines.stop import Stop
from workers.models import Loaded
from workers.records import Alert, Metric

AN_EVALUATION = 2 * 2
AN_ITERATION = 6 * 4


@pytest.fixture(scope="module")
def straight(micro: Loaded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a run of three iterations, evaluated at 0, 2 and 3."""
    directory = tmp_path_factory.mktemp("straight")
    run(micro, directory)
    return directory


def evaluated(directory: Path, *epochs: int) -> list[tuple[int, dict[str, float]]]:
    """Return (step, values) of each evaluation in the records, without values that depend on the clock."""
    metrics = [m for epoch in epochs or (0,) for m in records_of(directory, Metric, epoch)]
    return [(m.step, m.values) for m in metrics if "reward/mean" in m.values]


@pytest.mark.parametrize(
    ("answers", "step"),
    [(1, 0), (AN_EVALUATION + 2 * AN_ITERATION + 1, 2), (2 * AN_EVALUATION + 3 * AN_ITERATION + 1, 3)],
    ids=["before the first iteration", "in the middle", "at the end"],
)
def test_interrupted_evaluation_is_repeated(
    micro: Loaded, tmp_path: Path, straight: Path, answers: int, step: int
) -> None:
    task = StopsAfter(answers)
    with pytest.raises(Stopped, match=f"after iteration {step} of 3"):
        run(micro, tmp_path, task, task.stop)
    saved = latest_checkpoint(tmp_path)
    assert saved is not None
    assert step_of(saved) == step
    assert (saved / EVALUATION_DUE).exists()
    assert not is_complete(saved, 3)

    end = digest(run(micro, tmp_path))

    assert evaluated(tmp_path, 0, 1) == evaluated(straight)
    assert end == digest(run(micro, straight)), "a run that is complete changes nothing"


def test_interrupted_iteration_is_repeated(
    micro: Loaded, tmp_path: Path, straight: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, answered = Stop(), 0
    answers = DecoderBackEnd._answer_alone

    def alone(self: DecoderBackEnd, seed: int, prompts: Any) -> Any:
        nonlocal answered
        answered += 1
        if answered == 9:
            self.trained.write(self.perturbation.member(seed, self.trained.master))
            stop.set()
        return answers(self, seed, prompts)

    with monkeypatch.context() as patch:
        patch.setattr(DecoderBackEnd, "_answer_alone", alone)
        with pytest.raises(Stopped, match="after iteration 1 of 3"):
            run(micro, tmp_path, stop=stop, rows=1)
    assert answered == 9, "no member is asked after the signal"
    assert digest(run(micro, tmp_path)) == digest(run(micro, straight))
    assert evaluated(tmp_path, 0, 1) == evaluated(straight)


def test_resume_is_recorded_as_alert(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path, iterations=2)
    run(micro, tmp_path, iterations=3)
    (alert,) = records_of(tmp_path, Alert, 1)
    assert (alert.level, alert.step) == ("info", 2)
    assert alert.message.startswith("resumes exactly from iteration 2")


def test_resume_from_another_base_model_is_refused(micro: Loaded, tmp_path: Path, straight: Path) -> None:
    other = Loaded(micro.model, micro.tokenizer, straight / "checkpoints/step-000003", micro.device, micro.dtype)
    with pytest.raises(NotResumable, match="was trained from another base model"):
        run(other, tmp_path, resume=straight / "checkpoints/step-000003", iterations=4)


def test_resume_with_another_adapter_is_refused(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path, iterations=1, lora={"rank": 2})
    with pytest.raises(NotResumable, match=r"was trained with es\.lora"):
        run(micro, tmp_path, iterations=2, lora={"rank": 2, "alpha": 3.0})


def test_a_damaged_adapter_is_refused(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path, iterations=1, lora={"rank": 2})
    with (tmp_path / "checkpoints/step-000001/adapter/adapter_model.safetensors").open("r+b") as adapter:
        adapter.seek(-1, 2)
        adapter.write(b"\x01")
    with pytest.raises(NotResumable, match="is damaged"):
        run(micro, tmp_path, iterations=2, lora={"rank": 2})


def test_gpu_seconds_of_a_run_that_changes_its_gpus(micro: Loaded, tmp_path: Path) -> None:
    task = StopsAfter(AN_EVALUATION + 2 * AN_ITERATION + 1)
    with pytest.raises(Stopped, match="after iteration 2 of 3"):
        run(replace(micro, gpus=8), tmp_path, task, task.stop)
    run(replace(micro, gpus=2), tmp_path)
    check_gpu_seconds(tmp_path, (8, 2), steps=3)
