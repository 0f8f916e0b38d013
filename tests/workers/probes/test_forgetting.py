"""Evaluations of steps from the replay log equal those of saved checkpoints exactly, on the trained task and others."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.workers.engines.es.runs import records_of, run
from tests.workers.probes.evaluations import config_of, evaluate_in, values_of
from tests.workers.training_process import train_here
from workers.config import ConfigError
from workers.models import Loaded
from workers.probes.evaluate.subjects import select_steps
from workers.records import Metric
from workers.tasks import TASKS, Example, Score

LAST = 20
PRIOR = [{"name": "safety"}]
CHECKED = (1, 2, 7, 13, 19, 20)
"""Steps whose points are compared with evaluations of the saved checkpoint. Each follows from all steps before it."""
ANSWERS = 4 * (1 + 2)
"""Answers to the task's own prompts that the stopped evaluation scores at each step."""
scored: list[str] = []


@pytest.fixture(scope="module")
def trained(micro: Loaded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An ES run of 20 iterations that saved every step, and forgets as it learns."""
    directory = tmp_path_factory.mktemp("trained")
    options: dict[str, Any] = {"population": 4, "prompts": 2, "max_new_tokens": 6, "anchor_decay": 2.0, "kl_beta": 0.1}
    run(micro, directory, iterations=LAST, checkpoint_every=1, **options)
    return directory


def test_20_points_from_one_log_equal_evaluations_of_saved_checkpoints(trained: Path, tmp_path: Path) -> None:
    steps = ", ".join(str(step) for step in range(1, LAST + 1))
    evaluate_in(tmp_path / "replayed", config_of(run=str(trained), steps=steps, prior_tasks=PRIOR))

    replayed = values_of(tmp_path / "replayed")
    assert list(replayed) == list(range(1, LAST + 1))
    for step in CHECKED:
        values = replayed[step]
        checkpoint = str(trained / "checkpoints" / f"step-{step:06d}")
        evaluate_in(tmp_path / str(step), config_of(model=checkpoint, base="micro", prior_tasks=PRIOR))
        assert values_of(tmp_path / str(step)) == {step: values}
    assert len({values["kl"] for values in replayed.values()}) > LAST // 2, "the weights must differ"
    assert len({values["prior/safety/reward/mean"] for values in replayed.values()}) > 1


def test_points_equal_what_the_training_recorded_of_itself(trained: Path, tmp_path: Path) -> None:
    """The training evaluated every second step by the same evaluator, on two prompts with one sample."""
    plan = {"prompts": 2, "samples": 1, "max_new_tokens": 6}
    evaluate_in(tmp_path, config_of(run=str(trained), points=11, plan=plan))

    recorded = {m.step: m.values for m in records_of(trained, Metric) if "reward/mean" in m.values}
    replayed = values_of(tmp_path)
    assert list(replayed) == list(recorded) == list(range(0, LAST + 1, 2))
    for step, values in recorded.items():
        assert {name: replayed[step][name] for name in values} == values


def test_an_unknown_step_is_refused_with_the_known_ones(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"evaluate\.steps: names 21, which this run does not have; it has 0 to 20"):
        evaluate_in(tmp_path, config_of(run=str(trained), steps="1, 21"))


def test_saved_checkpoints_serve_a_run_without_a_replay_log(trained: Path, tmp_path: Path) -> None:
    """A run of GRPO has checkpoints and no log: its base comes from its run.json."""
    attempt = tmp_path / "esweb-g-a1"
    (attempt / "checkpoints").mkdir(parents=True)
    for step in (10, 20):
        name = f"checkpoints/step-{step:06d}"
        (attempt / name).symlink_to(trained / name)
    grpo = {"method": "grpo", "grpo": {"max_completion_length": 6}, "model": {"path": "micro"}}
    (attempt / "run.json").write_text(json.dumps(grpo))
    evaluate_in(tmp_path / "saved", config_of(run=str(tmp_path)))
    evaluate_in(tmp_path / "replayed", config_of(run=str(trained), steps="0, 10, 20"))

    saved = values_of(tmp_path / "saved")
    assert list(saved) == [0, 10, 20]
    assert saved == values_of(tmp_path / "replayed")
    assert saved[0]["kl"] == 0


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="contains neither the attempts of a run"):
        evaluate_in(tmp_path / "out", config_of(run=str(tmp_path)))


def test_points_are_spread_over_the_run() -> None:
    def selected(points: int, last: int) -> list[int]:
        settings = config_of(points=points).evaluate
        return select_steps(list(range(last + 1)), settings)

    assert selected(5, 100) == [0, 25, 50, 75, 100]
    assert selected(20, 4) == [0, 1, 2, 3, 4]
    assert selected(1, 100) == [100]
    assert selected(2, 7) == [0, 7]


def test_the_kl_may_be_measured_against_another_model_or_a_moved_base(
    trained: Path, micro: Loaded, tmp_path: Path
) -> None:
    other = str(trained / "checkpoints" / "step-000010")
    moved = shutil.copytree(micro.path, tmp_path / "moved")
    for name, base in (("plain", ""), ("moved", str(moved)), ("other", other)):
        evaluate_in(tmp_path / name, config_of(run=str(trained), steps="0, 10", base=base))

    plain, against = values_of(tmp_path / "plain"), values_of(tmp_path / "other")
    assert values_of(tmp_path / "moved") == plain
    assert plain[0]["kl"] == against[10]["kl"] == 0
    assert against[0]["kl"] > 0
    assert against[10]["reward/mean"] == plain[10]["reward/mean"]


def test_a_checkpoint_of_a_hand_started_run_without_a_log_needs_a_base(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "esweb-g-a1" / "checkpoints").mkdir(parents=True)

    with pytest.raises(ConfigError, match=r"evaluate\.base: is needed, because .* has no run\.json"):
        evaluate_in(tmp_path / "out", config_of(run=str(tmp_path)))


class Signals(TASKS["conciseness"]):  # type: ignore[misc]
    """A task during whose third step the scheduler sends SIGTERM to the evaluation."""

    def score(self, example: Example, completion: str) -> Score:
        scored.append(example.id)
        if len(scored) == 2 * ANSWERS + 1:
            signal.raise_signal(signal.SIGTERM)
        return super().score(example, completion)


def test_a_stopped_evaluation_continues_after_its_last_complete_step(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = {"prompts": 4, "samples": 2, "max_new_tokens": 8}
    config = config_of(run=str(trained), points=6, prior_tasks=PRIOR, plan=plan)
    (tmp_path / "run.json").write_text(json.dumps(config.to_json()))
    out, steps = tmp_path / "out", [0, 4, 8, 12, 16, 20]
    scored.clear()

    with monkeypatch.context() as patch:
        patch.setitem(TASKS, "conciseness", Signals)
        assert train_here(tmp_path / "run.json", out)[0] == 75
    assert train_here(tmp_path / "run.json", out)[0] == 0

    first, second = values_of(out, 0), values_of(out, 1)
    assert list(first) == steps[:2]
    assert [*first, *second] == steps
    evaluate_in(tmp_path / "whole", config)
    assert values_of(tmp_path / "whole") == first | second
