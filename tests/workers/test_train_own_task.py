"""A training on a task of the user's own: whole, refused before the model is loaded, failed with the prompt's name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import PATIENCE_SECONDS
from tests.workers.tasks.own.clock import passing_the_limit
from tests.workers.tasks.own.files import write
from tests.workers.training_process import metrics, records, run_json
from workers.records import Response, Status
from workers.train import main

TASK = """
from pathlib import Path

class Task:
    def __init__(self, options):
        self.letter, self.bad = options["letter"], options.get("bad", "")

    def examples(self, split):
        facts = {"train": ["sky", "sea", "grass"], "eval": ["snow", "coal"]}
        return [{"prompt": f"What colour is the {thing}?", "thing": thing} for thing in facts[split]]

    def score(self, example, completion):
        if completion and example["thing"] == "grass":
            exec(self.bad)
        return {"reward": completion.count(self.letter), "long": len(completion) > 20}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an allowed one."""
    allowed = tmp_path / "allowed"
    monkeypatch.setenv("ESWEB_TASK_PATHS", str(allowed))
    write(allowed, TASK)
    return allowed


def config(tmp_path: Path, name: str, **options: Any) -> Path:
    """A preset's config with this task."""
    steps = (
        {"es": {"iterations": 2, "population": 2, "prompts": 0}} if name == "es-micro" else {"grpo": {"max_steps": 2}}
    )
    path = run_json(tmp_path, name, **steps, evaluation={"every": 0})
    task = {"name": "own", "reward_seconds": PATIENCE_SECONDS, "options": {"path": "my_task:Task", "options": options}}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"task": task}))
    return path


@pytest.mark.usefixtures("restored_signals")
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
@pytest.mark.parametrize("name", ["es-micro", "grpo-micro"])
def test_own_task_trains_with_both_methods(tmp_path: Path, folder: Path, name: str) -> None:
    out = tmp_path / "out"
    assert main([str(config(tmp_path, name, letter="e")), "--out", str(out)]) == 0
    assert [m.step for m in metrics(out, "reward/long/mean")] == [0, 2]
    assert {r.prompt for r in records(out, Response)} == {"What colour is the snow?", "What colour is the coal?"}
    assert all(r.reward == r.text.count("e") for r in records(out, Response))


@pytest.mark.usefixtures("restored_signals")
def test_invalid_own_task_is_refused_before_model_is_loaded(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(config(tmp_path, "es-micro")), "--out", str(tmp_path / "out")]) == 2
    errors = capsys.readouterr().err
    assert "task.options.options: my_task:Task cannot be used: KeyError: 'letter' (my_task.py, line 6" in errors
    statuses = records(tmp_path / "out", Status)
    assert statuses[-1].phase == "failed"
    assert not any("model" in status.message for status in statuses[:-1])


@pytest.mark.usefixtures("restored_signals")
@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("raise ValueError('no reward today')", "ValueError: no reward today"),
        ("LATE\nwhile True: pass", f"it took longer than {PATIENCE_SECONDS:g} s"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_reward_that_fails_twice_ends_the_run_with_prompt_and_traceback(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    bad: str,
    reason: str,
) -> None:
    monkeypatch.setattr("workers.tasks.own.process.TRACEBACK_SECONDS", PATIENCE_SECONDS)
    bad = bad.replace("LATE", passing_the_limit(tmp_path / "late", monkeypatch))
    path = config(tmp_path, "es-micro", letter="e", bad=bad)
    assert main([str(path), "--out", str(tmp_path / "out")]) == 1
    last = records(tmp_path / "out", Status)[-1]
    assert last.phase == "failed"
    assert "the reward of the prompt 'What colour is the grass?'" in last.message
    assert reason in last.message
    log = capsys.readouterr().err
    assert "my_task.py" in log and "in score" in log
