"""A training with two processes: it learns what one process learns, stops and resumes, and ends if one is lost.

What the supervisor of the processes does is in tests/workers/trainer_processes/test_supervisor.py.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from safetensors.torch import load_file

from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.test_light_modules import modules
from tests.workers.training_forks import ForkedTraining, TrainingForks
from tests.workers.training_process import train_here
from workers.records import Metric, Population, Response, Status, read, records_path
from workers.train import BAD_CONFIG

# Warnings about how TRL uses transformers, because a training runs in the tests' own process.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
GROUP = 8
GRPO: dict[str, Any] = {
    "max_steps": 8,
    "learning_rate": 0.002,
    "num_generations": GROUP,
    "max_completion_length": 16,
    "beta": 0.02,
    "save_steps": 4,
    "keep": "all",
    # Eight steps share completions, so that a checkpoint amid them holds those that are still in use.
    "num_iterations": 8,
    "completions_every": 1,
}
ONE = GRPO | {"per_device_train_batch_size": 24}
TWO = GRPO | {"per_device_train_batch_size": 12, "processes_per_node": 2, "save_steps": 2, "max_steps": 400}
"""Three groups, of which the second is spread over both processes. It is stopped long before its last step."""
LAST = 10
"""The last step to compare. The second generation is that of step 9."""
LONG = GRPO | {
    "max_steps": 400, "num_iterations": 1, "per_device_train_batch_size": 8, "processes_per_node": 2, "save_steps": 2,
}  # fmt: skip


def config_file(folder: Path, grpo: dict[str, Any], **sections: Any) -> Path:
    """Write the config of a run with the micro model."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "method": "grpo",
        "model": {"path": "micro"},
        "grpo": grpo,
        "evaluation": {"every": 0, "prompts": 4, "samples": 1},
        "compute": {"cores": grpo.get("processes_per_node", 1)},
        "tracking": {"system_seconds": 0},
    }
    path = folder / "run.json"
    path.write_text(json.dumps(config | sections), encoding="utf-8")
    return path


def start_training(config: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    """Start a training, as a user does by hand."""
    command = [sys.executable, "-m", "workers.train", str(config), "--out", str(out), *more]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def train(config: Path, out: Path, *more: str) -> None:
    """Train to the end."""
    with start_training(config, out, *more) as process:
        try:
            _, errors = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()
    assert process.returncode == 0, errors


def records(out: Path, epoch: int = 0) -> list[Any]:
    """Return the records of one start."""
    return [line.record for line in read(records_path(out, epoch), limit=2**26).lines]


def values(out: Path, key: str, epoch: int = 0) -> dict[int, float]:
    """Return step -> value of a metric."""
    metrics = (record for record in records(out, epoch) if isinstance(record, Metric))
    return {metric.step: metric.values[key] for metric in metrics if key in metric.values}


def checkpoint(out: Path, step: int) -> Path:
    """Return the folder of a checkpoint."""
    return out / "checkpoints" / f"step-{step:06d}"


def weights(out: Path, step: int) -> dict[str, Any]:
    """Return the tensors of a checkpoint."""
    tensors: dict[str, Any] = load_file(checkpoint(out, step) / "model.safetensors")
    return tensors


@pytest.fixture(scope="module")
def forks() -> Iterator[TrainingForks]:
    """Start the process of which trainings are forks."""
    with TrainingForks() as process:
        yield process


@pytest.fixture(scope="module", params=["dapo", pytest.param("grpo", marks=pytest.mark.soak)])
def one_and_two(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, forks: TrainingForks
) -> tuple[Path, Path]:
    """Return the directories of a run with one process, and of one that two processes continue from its step 4.

    The latter is stopped after step LAST.
    """
    folder = tmp_path_factory.mktemp(request.param)
    alone, together = folder / "one" / "out", folder / "two" / "out"
    code, output = train_here(config_file(alone.parent, ONE | {"loss_type": request.param}), alone)
    assert code == 0, output
    config = config_file(together.parent, TWO | {"loss_type": request.param})
    argv = [str(config), "--out", str(together), "--resume", str(checkpoint(alone, 4))]
    training = forks.start(argv, folder / "errors")
    wait_for(training, checkpoint(together, LAST))
    training.request_stop()
    code, errors = training.end()
    assert code == 75, errors
    return alone, together


@pytest.fixture
def of_two(one_and_two: tuple[Path, Path]) -> Path:
    """Return the directory of the run with two processes."""
    return one_and_two[1]


def wait_for(training: ForkedTraining, folder: Path) -> None:
    """Wait until a training has saved a checkpoint."""
    wait_until(lambda: folder.exists() or not training.is_running, f"the checkpoint {folder.name}")
    assert training.is_running, training.end()


def test_two_processes_have_the_losses_of_one(one_and_two: tuple[Path, Path]) -> None:
    for key in ("train/loss", "train/grad_norm", "train/kl", "train/entropy", "train/kl/k1"):
        alone, together = (
            {step: value for step, value in values(out, key).items() if 4 < step <= 8} for out in one_and_two
        )
        assert list(together) == [5, 6, 7, 8]
        assert together == pytest.approx(alone, rel=1e-4, abs=1e-6), key
    expected, tensors = (weights(out, 8) for out in one_and_two)
    assert all(abs(tensors[name] - tensor).max() < 1e-4 for name, tensor in expected.items())


def test_the_first_process_records_all_groups_and_completions(of_two: Path) -> None:
    """Also of a group that is spread over both processes."""
    population = next(record for record in records(of_two) if isinstance(record, Population))
    completions = [r for r in records(of_two) if isinstance(r, Response) and r.split == "train" and r.step == 9]

    assert population.step == 9
    assert [member.seed for member in population.members] == [0, 1, 2]
    assert len({(r.prompt_id, r.sample) for r in completions}) == len(completions) == 3 * GROUP
    for number, member in enumerate(population.members):
        group = [c for c in completions if c.parts["group"] == number]
        rewards = np.array([c.reward for c in group])
        assert len(rewards) == GROUP and len({c.prompt_id for c in group}) == 1
        assert rewards.mean() == pytest.approx(member.reward)
        expected = (rewards - rewards.mean()) / (rewards.std(ddof=1) + 1e-4)
        assert [c.parts["advantage"] for c in group] == pytest.approx(expected, abs=1e-4)


def test_the_processes_are_described_for_accelerate(of_two: Path) -> None:
    assert "num_processes: 2" in (of_two / "accelerate.yaml").read_text(encoding="utf-8")


def test_a_request_to_stop_saves_one_checkpoint_of_all_processes(of_two: Path) -> None:
    last = records(of_two)[-1]
    assert isinstance(last, Status)
    assert last.phase == "saving"
    assert "the checkpoint is saved" in last.message
    saved = max((of_two / "checkpoints").iterdir())
    assert {"rng_state_0.pth", "rng_state_1.pth", "optimizer.pt"} <= {
        file.name for file in (saved / "trainer").iterdir()
    }


def test_a_restart_continues_bit_for_bit_and_ends_if_a_process_is_lost(
    of_two: Path, tmp_path: Path, forks: TrainingForks
) -> None:
    out = tmp_path / "out"
    shutil.copytree(checkpoint(of_two, 8), checkpoint(out, 8))

    training = forks.start([str(of_two.parent / "run.json"), "--out", str(out)], tmp_path / "errors")
    wait_for(training, checkpoint(out, LAST))
    ranks = children(training)
    ranks[1].send_signal(signal.SIGKILL)
    code, errors = training.end()

    check_lost(code, errors, ranks, 1)
    failed = records(out)[-1]
    assert isinstance(failed, Status)
    assert (failed.phase, "process 2 of 2 was ended by signal 9" in failed.message) == ("failed", True)
    assert min(values(out, "train/loss")) == 9
    resumed = weights(out, LAST)
    assert all((resumed[name] == tensor).all() for name, tensor in weights(of_two, LAST).items())


def check_lost(code: int, errors: str, ranks: list[psutil.Process], victim: int) -> None:
    """Check the end of a training whose process `victim` was killed."""
    assert code == 1
    assert not any(rank.is_running() for rank in ranks)
    assert f"process {victim + 1} of 2 was ended by signal 9 (SIGKILL)" in errors


def test_trainings_and_all_modules_of_workers_need_no_django(forks: TrainingForks, of_two: Path) -> None:
    assert forks.imported == len([*modules()])
    assert values(of_two, "train/loss")


def test_processes_start_from_nothing_and_report_why_they_end(tmp_path: Path) -> None:
    """The other trainings that are not in the soak are forks. This one ends before it imports torch."""
    config = config_file(tmp_path, TWO)
    with start_training(config, tmp_path / "out", "--code", "0" * 64, "--other-code", "refuse") as process:
        try:
            _, errors = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()
    assert process.returncode == BAD_CONFIG
    refused = records(tmp_path / "out")[-1]
    assert isinstance(refused, Status)
    assert refused.message in errors and refused.message.startswith("this is not the code that the run was launched")


@pytest.mark.soak
def test_adapter_of_two_processes_with_gradient_checkpointing_resumes_bit_for_bit(tmp_path: Path) -> None:
    grpo = TWO | {
        "max_steps": 2,
        "save_steps": 1,
        "num_iterations": 1,
        "lora": {"rank": 4},
        "gradient_checkpointing": True,
    }
    config = config_file(tmp_path, grpo)
    train(config, tmp_path / "out")
    train(config, tmp_path / "again", "--resume", str(checkpoint(tmp_path / "out", 1)))

    restored = weights(tmp_path / "again", 2)
    assert all((restored[name] == tensor).all() for name, tensor in weights(tmp_path / "out", 2).items())


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[Path], subprocess.Popen[str]]]:
    """Return a function that starts a training of `tmp_path / "out"`, which is ended after the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(config: Path) -> subprocess.Popen[str]:
        started.append(start_training(config, tmp_path / "out"))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def has_checkpoint(out: Path) -> bool:
    """Return whether the training has saved one."""
    return any(out.glob("checkpoints/step-*"))


def is_alive(process: psutil.Process) -> bool:
    """Return whether the process runs; one that has ended may wait to be noticed."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def children(process: subprocess.Popen[str] | ForkedTraining) -> list[psutil.Process]:
    """Return the processes of the training, in the order of their numbers, in which they are started."""
    return sorted(psutil.Process(process.pid).children(), key=lambda child: (child.create_time(), child.pid))


@pytest.mark.soak
@pytest.mark.parametrize("victim", [0, 1])
def test_a_lost_process_ends_all_and_the_run_resumes(
    victim: int, start: Callable[[Path], subprocess.Popen[str]], tmp_path: Path
) -> None:
    config, out = config_file(tmp_path, LONG), tmp_path / "out"
    process = start(config)
    wait_until(lambda: has_checkpoint(out), "the first checkpoint")
    ranks = children(process)

    ranks[victim].send_signal(signal.SIGKILL)

    _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    check_lost(process.returncode, errors, ranks, victim)
    newest = max(int(p.name.removeprefix("step-")) for p in out.glob("checkpoints/step-*"))
    again = start(config)
    wait_until(lambda: records_path(out, 1).exists() and values(out, "train/loss", 1), "a step of the second start")
    assert again.poll() is None
    assert min(values(out, "train/loss", 1)) == newest + 1


@pytest.mark.soak
def test_the_end_of_the_supervisor_ends_its_processes(
    start: Callable[[Path], subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = start(config_file(tmp_path, LONG))
    wait_until(lambda: has_checkpoint(tmp_path / "out"), "the first checkpoint")
    ranks = children(process)

    process.kill()

    wait_until(lambda: not any(is_alive(rank) for rank in ranks), "the end of the processes")


@pytest.mark.soak
def test_a_reward_that_fails_in_the_first_process_is_the_reason_of_the_run(
    tmp_path: Path, start: Callable[[Path], subprocess.Popen[str]]
) -> None:
    (tmp_path / "failing.py").write_text(
        "def reward(prompt, response, expected):\n    raise ValueError('no reward today')\n", encoding="utf-8"
    )
    process = start(config_file(tmp_path, TWO, task={"name": "own", "options": {"path": "failing:reward"}}))
    process.communicate(timeout=PATIENCE_SECONDS)

    assert process.returncode in (1, 2)
    failed = records(tmp_path / "out")[-1]
    assert isinstance(failed, Status)
    assert failed.phase == "failed"
