"""The ways a training ends: exit codes, the last record, messages on stderr."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.workers.training_process import lines, metrics, records, run_json, weights
from workers.config import TaskConfig
from workers.records import Population, RecordWriter, Status
from workers.tasks import TASKS, Example, Score, make
from workers.train import main

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")

A_STEP = 32
"""Rewards that a step of grpo-micro computes."""


class Broken(TASKS["conciseness"]):  # type: ignore[misc]
    """A task whose reward fails on every prompt of the training set, none of which is evaluated."""

    def score(self, example: Example, completion: str) -> Score:
        if example in self.examples("train"):
            raise ZeroDivisionError(f"no reward for {example.id} today")
        return super().score(example, completion)


class Signals(TASKS["conciseness"]):  # type: ignore[misc]
    """A task during whose second step of training the scheduler sends SIGTERM to the run."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.scored = 0

    def score(self, example: Example, completion: str) -> Score:
        self.scored += example in self.examples("train")
        if self.scored == A_STEP + 1:
            signal.raise_signal(signal.SIGTERM)
        return super().score(example, completion)


@pytest.mark.usefixtures("restored_signals")
def test_es_reaches_its_end(tmp_path: Path) -> None:
    out = tmp_path / "out"

    assert main([str(run_json(tmp_path, "es-micro", es={"iterations": 4, "population": 6})), "--out", str(out)]) == 0

    assert records(out, Status)[-1].phase == "done"
    assert [m.step for m in metrics(out, "reward/mean")] == [0, 2, 4]
    assert [p.step for p in records(out, Population)] == [1, 2, 3, 4]
    assert 4 in weights(out)


@pytest.mark.usefixtures("restored_signals")
def test_sigterm_saves_a_checkpoint_and_exits_75(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TASKS, "conciseness", Signals)
    config = run_json(tmp_path, "grpo-micro", grpo={"max_steps": 100_000}, evaluation={"every": 0})
    out = tmp_path / "out"

    assert main([str(config), "--out", str(out)]) == 75

    (step,) = weights(out)
    last = records(out, Status)[-1]
    assert last.phase == "saving"
    assert last.message.startswith(f"stopped after step {step} of 100000")
    assert (out / f"checkpoints/step-{step:06d}/trainer/trainer_state.json").is_file()


@pytest.mark.usefixtures("restored_signals")
def test_a_reward_that_fails_ends_the_run_and_names_its_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(TASKS, "conciseness", Broken)
    config = run_json(tmp_path, "grpo-micro", grpo={"max_steps": 2}, evaluation={"every": 0})

    assert main([str(config), "--out", str(tmp_path / "out")]) == 1

    last = records(tmp_path / "out", Status)[-1]
    assert last.phase == "failed"
    examples = make(TaskConfig()).examples("train")
    (failed,) = [example for example in examples if f"no reward for {example.id} today" in last.message]
    assert f"the reward of the prompt {failed.messages[-1]['content']!r} ({failed.id}) failed twice" in last.message
    assert f"ZeroDivisionError: no reward for {failed.id} today" in capsys.readouterr().err


def test_invalid_config_is_refused_with_all_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "run.json"
    config.write_text(json.dumps({"method": "grpo", "grpo": {"max_step": 1, "beta": -1}, "seed": "x"}))

    assert main([str(config), "--out", str(tmp_path / "out")]) == 2

    problems = [line.split(":")[0] for line in capsys.readouterr().err.splitlines()]
    assert sorted(problems) == ["grpo.beta", "grpo.max_step", "seed"]
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("restored_signals")
def test_option_unknown_to_trl_is_a_config_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config, out = run_json(tmp_path, "grpo-micro", grpo={"extra": {"top_kk": 5}}), tmp_path / "out"

    assert main([str(config), "--out", str(out)]) == 2

    assert "did you mean top_k" in capsys.readouterr().err
    last = records(out, Status)[-1]
    assert last.phase == "failed"
    assert last.message.startswith("grpo.extra.top_kk: is not a field")


@pytest.mark.usefixtures("restored_signals")
def test_command_on_complete_directory_does_nothing(tmp_path: Path) -> None:
    config, out = run_json(tmp_path, "grpo-micro", grpo={"max_steps": 4}), tmp_path / "out"
    (out / "checkpoints/step-000004").mkdir(parents=True)

    assert main([str(config), "--out", str(out)]) == 0

    assert [line.record.phase for line in lines(out) if isinstance(line.record, Status)] == ["loading", "done"]


@pytest.mark.usefixtures("restored_signals")
def test_folder_that_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    config, out = run_json(tmp_path, "grpo-micro"), tmp_path / "out"

    assert main([str(config), "--out", str(out), "--resume", str(tmp_path)]) == 2

    assert "its name should look like step-000020" in records(out, Status)[-1].message


@pytest.mark.usefixtures("restored_signals")
def test_an_epoch_is_written_by_one_process_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config, out = run_json(tmp_path, "grpo-micro"), tmp_path / "out"
    RecordWriter(out, 3).close()

    assert main([str(config), "--out", str(out), "--epoch", "3"]) == 2

    assert "epoch 3 already exists" in capsys.readouterr().err
