"""The run.json files of the docs are valid configs without changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import each_case
from workers.config import OwnOptions, RunConfig
from workers.tasks import score_safely
from workers.tasks.own import OwnTask

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "examples"
EXAMPLES = sorted(FOLDER.glob("*.json"))


@each_case("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_can_be_run(path: Path) -> None:
    config = RunConfig.read(path)

    assert (config.steps > 0) == config.is_training


def test_example_of_own_task_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESWEB_TASK_PATHS", str(FOLDER))
    config = RunConfig.read(FOLDER / "run-own.json")
    assert isinstance(config.task.options, OwnOptions)
    task = OwnTask(config.task.options, config.task.reward_seconds)
    train, held_out = task.examples("train"), task.examples("eval")
    assert (len(train), len(held_out)) == (48, 16)
    assert not {e.id for e in train} & {e.id for e in held_out}
    sums = [(train[0], f"It is {train[0].target}."), (train[0], train[0].target), (train[0], "")]
    assert [s.reward for s in score_safely(task, sums)] == pytest.approx([0.8, 1.0, 0.0])
    task.close()


def test_examples_cover_each_method() -> None:
    assert {RunConfig.read(path).method for path in EXAMPLES} == {"es", "grpo", "evaluate", "probe", "audit"}
