"""A training with two processes: it learns what one process learns, stops and resumes, and ends if one is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from safetensors.torch import load_file

from tests.waiting import wait_until
from workers.records import Metric, Population, Response, Status, read, records_path

GRPO: dict[str, Any] = {
    "max_steps": 8,
    "learning_rate": 0.002,
    "num_generations": 8,
    "max_completion_length": 16,
    "beta": 0.02,
    "save_steps": 4,
    # Eight steps share completions, so that a checkpoint amid them holds those that are still in use.
    "num_iterations": 8,
    "completions_every": 1,
}
ONE = GRPO | {"per_device_train_batch_size": 32}
TWO = GRPO | {"per_device_train_batch_size": 16, "processes_per_node": 2}


def config_file(folder: Path, grpo: dict[str, Any], **sections: Any) -> Path:
    """Write the config of a run with the micro model."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "method": "grpo",
        "model": {"path": "micro"},
        "grpo": grpo,
        "evaluation": {"every": 0, "prompts": 4, "samples": 1},
        "compute": {"cores": 2},
        "tracking": {"system_seconds": 0},
    }
    path = folder / "run.json"
    path.write_text(json.dumps(config | sections), encoding="utf-8")
    return path


def train(config: Path, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Train to the end, as a user does by hand."""
    command = [sys.executable, "-m", "workers.train", str(config), "--out", str(out), *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def records(out: Path, epoch: int = 0) -> list[Any]:
    """Return the records of one start."""
    return [line.record for line in read(records_path(out, epoch), limit=2**26).lines]


def values(out: Path, key: str, epoch: int = 0) -> dict[int, float]:
    """Return step -> value of a metric."""
    metrics = (record for record in records(out, epoch) if isinstance(record, Metric))
    return {metric.step: metric.values[key] for metric in metrics if key in metric.values}


@pytest.fixture(scope="module")
def of_one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a run with one process."""
    folder = tmp_path_factory.mktemp("one")
    done = train(config_file(folder, ONE), folder / "out")
    assert done.returncode == 0, done.stderr
    return folder / "out"


@pytest.fixture(scope="module")
def of_two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a run with two processes."""
    folder = tmp_path_factory.mktemp("two")
    done = train(config_file(folder, TWO), folder / "out")
    assert done.returncode == 0, done.stderr
    return folder / "out"


@pytest.mark.parametrize("loss_type", ["grpo", "dapo"])
def test_two_processes_have_the_losses_of_one(loss_type: str, of_one: Path, tmp_path: Path) -> None:
    checkpoint = str(of_one / "checkpoints" / "step-000004")
    outs = []
    for name, grpo in (("one", ONE), ("two", TWO)):
        config = config_file(tmp_path / name, grpo | {"loss_type": loss_type})
        done = train(config, tmp_path / name / "out", "--resume", checkpoint)
        assert done.returncode == 0, done.stderr
        outs.append(tmp_path / name / "out")

    for key in ("train/loss", "train/grad_norm", "train/kl", "train/entropy", "train/kl/k1"):
        alone, together = (values(out, key) for out in outs)
        assert list(together) == [5, 6, 7, 8]
        assert together == pytest.approx(alone, rel=1e-4, abs=1e-6), key
    weights = [load_file(out / "checkpoints" / "step-000008" / "model.safetensors") for out in outs]
    assert all(abs(weights[1][name] - tensor).max() < 1e-4 for name, tensor in weights[0].items())


def test_the_first_process_records_all_groups_and_completions(of_two: Path) -> None:
    (population,) = [record for record in records(of_two) if isinstance(record, Population)]
    completions = [r for r in records(of_two) if isinstance(r, Response) and r.split == "train"]

    assert [member.seed for member in population.members] == [0, 1, 2, 3]
    assert len(completions) == 32
    for number, member in enumerate(population.members):
        group = [c.reward for c in completions if c.parts["group"] == number]
        assert len(group) == 8
        assert sum(group) / 8 == pytest.approx(member.reward)


def test_the_processes_are_described_for_accelerate(of_two: Path) -> None:
    assert "num_processes: 2" in (of_two / "accelerate.yaml").read_text(encoding="utf-8")


def test_a_restart_of_two_processes_continues_bit_for_bit(of_two: Path, tmp_path: Path) -> None:
    done = train(of_two.parent / "run.json", tmp_path / "out", "--resume", str(of_two / "checkpoints" / "step-000004"))

    assert done.returncode == 0, done.stderr
    expected, resumed = (
        load_file(out / "checkpoints" / "step-000008" / "model.safetensors") for out in (of_two, tmp_path / "out")
    )
    assert all((resumed[name] == tensor).all() for name, tensor in expected.items())


def test_adapter_of_two_processes_with_gradient_checkpointing_resumes_bit_for_bit(tmp_path: Path) -> None:
    grpo = TWO | {
        "max_steps": 2,
        "save_steps": 1,
        "num_iterations": 1,
        "lora": {"rank": 4},
        "gradient_checkpointing": True,
    }
    config = config_file(tmp_path, grpo)
    whole = train(config, tmp_path / "out")
    resumed = train(config, tmp_path / "again", "--resume", str(tmp_path / "out" / "checkpoints" / "step-000001"))

    assert (whole.returncode, resumed.returncode) == (0, 0), whole.stderr + resumed.stderr
    expected, restored = (
        load_file(tmp_path / out / "checkpoints" / "step-000002" / "model.safetensors") for out in ("out", "again")
    )
    assert all((restored[name] == tensor).all() for name, tensor in expected.items())


LONG = GRPO | {
    "max_steps": 400, "num_iterations": 1, "per_device_train_batch_size": 8, "processes_per_node": 2, "save_steps": 2,
}  # fmt: skip


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[Path], subprocess.Popen[str]]]:
    """Return a function that starts a training of `tmp_path / "out"`, which is ended after the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(config: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "workers.train", str(config), "--out", str(tmp_path / "out")]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

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


def children(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Return the processes of the training, in the order of their numbers."""
    return sorted(psutil.Process(process.pid).children(), key=lambda child: int(child.environ()["RANK"]))


def test_a_request_to_stop_saves_one_checkpoint_of_all_processes(
    start: Callable[[Path], subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = start(config_file(tmp_path, LONG))
    wait_until(lambda: has_checkpoint(tmp_path / "out"), "the first checkpoint")

    process.send_signal(signal.SIGTERM)

    assert process.wait() == 75
    last = records(tmp_path / "out")[-1]
    assert isinstance(last, Status)
    assert last.phase == "saving"
    assert "the checkpoint is saved" in last.message
    saved = max((tmp_path / "out" / "checkpoints").iterdir())
    assert {"rng_state_0.pth", "rng_state_1.pth", "optimizer.pt"} <= {file.name for file in saved.iterdir()}


@pytest.mark.parametrize("victim", [0, 1])
def test_a_lost_process_ends_all_and_the_run_resumes(
    victim: int, start: Callable[[Path], subprocess.Popen[str]], tmp_path: Path
) -> None:
    config = config_file(tmp_path, LONG)
    process = start(config)
    wait_until(lambda: has_checkpoint(tmp_path / "out"), "the first checkpoint")
    ranks = children(process)

    ranks[victim].send_signal(signal.SIGKILL)

    assert process.wait() == 1
    assert not any(rank.is_running() for rank in ranks)
    assert f"process {victim + 1} of 2 was ended by signal 9 (SIGKILL)" in (
        process.stderr.read() if process.stderr else ""
    )
    if victim == 1:
        failed = records(tmp_path / "out")[-1]
        assert isinstance(failed, Status)
        assert (failed.phase, "process 2 of 2 was ended by signal 9" in failed.message) == ("failed", True)
    newest = max(int(p.name.removeprefix("step-")) for p in (tmp_path / "out").glob("checkpoints/step-*"))
    again = start(config)
    wait_until(lambda: values(tmp_path / "out", "train/loss", 1), "a step of the second start")
    assert again.poll() is None
    assert min(values(tmp_path / "out", "train/loss", 1)) == newest + 1


def test_the_end_of_the_supervisor_ends_its_processes(
    start: Callable[[Path], subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = start(config_file(tmp_path, LONG))
    wait_until(lambda: has_checkpoint(tmp_path / "out"), "the first checkpoint")
    ranks = children(process)

    os.kill(process.pid, signal.SIGKILL)

    wait_until(lambda: not any(is_alive(rank) for rank in ranks), "the end of the processes")


def test_a_reward_that_fails_in_the_first_process_is_the_reason_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(
        "def reward(prompt, response, expected):\n    raise ValueError('no reward today')\n", encoding="utf-8"
    )
    config = config_file(tmp_path, TWO, task={"name": "own", "options": {"path": "failing:reward"}})
    done = train(config, tmp_path / "out")

    assert done.returncode in (1, 2)
    failed = records(tmp_path / "out")[-1]
    assert isinstance(failed, Status)
    assert failed.phase == "failed"
