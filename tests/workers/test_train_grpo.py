"""A GRPO run by the trainer's command: its records and files, and that a resume ends at the same weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workers.training_process import metrics, records, run_json, train_here, weights, working_folder
from workers.records import Population, Status
from workers.train import main

# Warnings about how TRL uses transformers, because the training runs in the tests' own process.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a config of six steps of four groups of four, saved after every third."""
    folder = tmp_path_factory.mktemp("grpo")
    groups = {"per_device_train_batch_size": 16, "num_generations": 4}
    return run_json(folder, "grpo-micro", grpo={"max_steps": 6, "save_steps": 3, "keep": "all", "beta": 0.02, **groups})


@pytest.fixture(scope="module")
def out(config: Path) -> Path:
    """Return the directory of a run that has reached its end."""
    out = config.with_name("out")
    code, output = train_here(config, out)
    assert code == 0
    (out.parent / "stdout").write_text(output)
    return out


def test_run_records_its_phases(out: Path) -> None:
    phases = [status.phase for status in records(out, Status)]
    assert phases[0] == "loading"
    assert phases[-1] == "done"
    assert {"training", "evaluating", "saving"} <= set(phases)

    steps = [line for line in (out.parent / "stdout").read_text().splitlines() if line.startswith("step ")]
    assert len(steps) == 6
    assert steps[-1].startswith("step 6/6  train reward ")


def test_evaluation_runs_before_during_and_after_training(out: Path) -> None:
    evaluated = metrics(out, "reward/mean")

    assert [m.step for m in evaluated] == [0, 2, 4, 6]
    assert evaluated[0].values["kl"] == 0
    assert evaluated[-1].values["kl"] > 0


def test_metrics_of_trl_are_recorded_under_their_names(out: Path) -> None:
    streamed = metrics(out, "train/reward")

    assert [m.step for m in streamed] == [1, 2, 3, 4, 5, 6]
    assert streamed[0].values.keys() >= {"train/kl", "train/reward_std", "train/loss", "train/completions/mean_length"}
    assert [m.step for m in metrics(out, "time/step_seconds")] == [1, 2, 3, 4, 5, 6]


def test_the_groups_of_each_step_are_its_population(out: Path) -> None:
    populations = records(out, Population)

    assert [p.step for p in populations] == [1, 2, 3, 4, 5, 6]
    for population, metric in zip(populations, metrics(out, "train/reward"), strict=True):
        rewards = [member.reward for member in population.members]
        assert len(rewards) == 4
        assert sum(rewards) / 4 == pytest.approx(metric.values["train/reward"], rel=1e-5)


def test_the_axes_count_what_training_generated(out: Path) -> None:
    streamed = metrics(out, "train/reward")
    generated = [m.values["train/completions/mean_length"] * 16 for m in streamed]

    assert [m.axes["samples"] for m in streamed] == [16, 32, 48, 64, 80, 96]
    assert [m.axes["tokens"] for m in streamed] == pytest.approx([sum(generated[: i + 1]) for i in range(6)])
    assert {m.axes["gpu_seconds"] for m in streamed} == {0}


def test_nothing_is_written_outside_the_directory(out: Path) -> None:
    assert sorted(p.name for p in out.iterdir()) == ["checkpoints", "records.0.jsonl", "run.json"]
    assert list(working_folder(out).iterdir()) == []


@pytest.mark.usefixtures("restored_signals")
def test_a_run_resumed_from_its_middle_ends_with_the_same_weights(config: Path, out: Path) -> None:
    again = out.with_name("again")

    assert main([str(config), "--out", str(again), "--resume", str(out / "checkpoints/step-000003")]) == 0

    assert weights(again)[6] == weights(out)[6]
    assert metrics(again, "reward/mean")[-1] == metrics(out, "reward/mean")[-1]
