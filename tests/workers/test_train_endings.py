"""The ways a training ends: exit codes, the last record, what is said on stderr."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.workers.trainings import lines, metrics, records, run_json, start, train, weights
from workers.config import TaskConfig
from workers.records import Population, RecordWriter, Status
from workers.tasks import make
from workers.train import main

BROKEN_REWARD = """
import sys
from workers import tasks, train

class Broken(tasks.TASKS["conciseness"]):
    def score(self, example, completion):
        if example.id == self.examples("train")[0].id:
            raise ZeroDivisionError("no reward today")
        return super().score(example, completion)

tasks.TASKS["conciseness"] = Broken
sys.exit(train.main(sys.argv[1:]))
"""


def test_es_reaches_its_end(tmp_path: Path) -> None:
    out = tmp_path / "out"

    process = train(run_json(tmp_path, "es-micro", es={"iterations": 4}), out)

    assert process.returncode == 0, process.stderr
    assert records(out, Status)[-1].phase == "done"
    assert [m.step for m in metrics(out, "reward/mean")] == [0, 2, 4]
    assert [p.step for p in records(out, Population)] == [1, 2, 3, 4]
    assert 4 in weights(out)


def test_sigterm_saves_a_checkpoint_and_exits_75(tmp_path: Path) -> None:
    config = run_json(tmp_path, "grpo-micro", grpo={"max_steps": 100_000}, evaluation={"every": 0})
    out = tmp_path / "out"
    with start(config, out) as process:
        try:
            assert process.stdout is not None
            while not process.stdout.readline().startswith("step 2/"):
                assert process.poll() is None
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=600)
        finally:
            process.kill()

    assert process.returncode == 75, errors
    (step,) = weights(out)
    last = records(out, Status)[-1]
    assert last.phase == "saving"
    assert last.message.startswith(f"stopped after step {step} of 100000")
    assert (out / f"checkpoints/step-{step:06d}/trainer_state.json").is_file()


def test_a_reward_that_fails_ends_the_run_and_names_its_prompt(tmp_path: Path) -> None:
    # Every prompt of the training set is drawn before the fifty steps are over; the evaluator never meets this one.
    config = run_json(tmp_path, "grpo-micro", grpo={"max_steps": 50}, evaluation={"every": 0})

    process = train(config, tmp_path / "out", program=("-c", BROKEN_REWARD))

    assert process.returncode == 1
    assert "ZeroDivisionError: no reward today" in process.stderr
    last = records(tmp_path / "out", Status)[-1]
    assert last.phase == "failed"
    assert "no reward today" in last.message
    assert make(TaskConfig()).examples("train")[0].messages[-1]["content"] in last.message


def test_a_bad_config_is_refused_with_every_problem_on_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "run.json"
    config.write_text(json.dumps({"method": "grpo", "grpo": {"max_step": 1, "beta": -1}, "seed": "x"}))

    assert main([str(config), "--out", str(tmp_path / "out")]) == 2

    problems = [line.split(":")[0] for line in capsys.readouterr().err.splitlines()]
    assert sorted(problems) == ["grpo.beta", "grpo.max_step", "seed"]
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("signals_put_back")
def test_what_the_installed_trl_does_not_know_is_a_bad_config_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, out = run_json(tmp_path, "grpo-micro", grpo={"extra": {"top_kk": 5}}), tmp_path / "out"

    assert main([str(config), "--out", str(out)]) == 2

    assert "did you mean top_k" in capsys.readouterr().err
    last = records(out, Status)[-1]
    assert last.phase == "failed"
    assert last.message.startswith("grpo.extra.top_kk: is not a field")


@pytest.mark.usefixtures("signals_put_back")
def test_the_same_command_on_a_complete_directory_does_nothing(tmp_path: Path) -> None:
    config, out = run_json(tmp_path, "grpo-micro", grpo={"max_steps": 4}), tmp_path / "out"
    (out / "checkpoints/step-000004").mkdir(parents=True)

    assert main([str(config), "--out", str(out)]) == 0

    assert [line.record.phase for line in lines(out) if isinstance(line.record, Status)] == ["loading", "done"]


@pytest.mark.usefixtures("signals_put_back")
def test_a_checkpoint_that_is_no_runs_is_refused_in_words(tmp_path: Path) -> None:
    config, out = run_json(tmp_path, "grpo-micro"), tmp_path / "out"

    assert main([str(config), "--out", str(out), "--resume", str(tmp_path)]) == 2

    assert "its name should look like step-000020" in records(out, Status)[-1].message


@pytest.mark.usefixtures("signals_put_back")
def test_an_epoch_is_written_by_one_process_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config, out = run_json(tmp_path, "grpo-micro"), tmp_path / "out"
    RecordWriter(out, 3).close()

    assert main([str(config), "--out", str(out), "--epoch", "3"]) == 2

    assert "epoch 3 is written already" in capsys.readouterr().err
