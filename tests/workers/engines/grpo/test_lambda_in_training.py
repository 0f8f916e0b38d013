"""GRPO with a cost: λ moves once per optimiser step, survives a resume, and a scorer's failure is never a reward."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.workers.engines.es.runs import records_of
from tests.workers.engines.grpo.test_resume import STEPS, end, run, stream
from tests.workers.scorers import StopsAsItWaits, scorer
from workers.config import SafetyOptions
from workers.engines.context import Stopped, latest_checkpoint, step_of
from workers.models import Loaded
from workers.records import Metric, Population
from workers.scorer.client import ScorerFailed
from workers.tasks.safety import Multiplier, Safety

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
MOVING: dict[str, Any] = {"lambda_init": 1.0, "lambda_lr": 0.3, "lambda_ema": 0.5, "cost_offset": 2.0}
AN_EVALUATION, A_STEP = 1, 1
"""Requests to the scorer."""


def task(**options: Any) -> Safety:
    return Safety(SafetyOptions(**MOVING | options))


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry a failed scorer request almost without a pause."""
    monkeypatch.setattr("workers.scorer.client.FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr("workers.tasks.safety.scorer.FIRST_PAUSE_SECONDS", 0.01)


def lambdas(directory: Path, *epochs: int) -> list[tuple[int, dict[str, float]]]:
    """Return (step, values) of the recorded metrics of λ."""
    metrics = [m for epoch in epochs for m in records_of(directory, Metric, epoch) if "lambda" in m.values]
    return [(m.step, {k: v for k, v in m.values.items() if "time" not in k}) for m in metrics]


def test_lambda_moves_once_per_optimiser_step(micro: Loaded, tmp_path: Path) -> None:
    safety = task()
    run(micro, tmp_path, safety, gradient_accumulation_steps=2, extra={"steps_per_generation": 1})
    rows, expected = lambdas(tmp_path, 0), Multiplier(1.0)
    assert [step for step, _ in rows] == [1, 2, 3, 4, 5]
    for (_, values), population in zip(rows, records_of(tmp_path, Population), strict=True):
        costs = [group.parts["cost"] for group in population.members]
        assert values["J_C"] == pytest.approx(sum(costs) / len(costs) + 2.0)
        assert values["lambda"] == expected.value
        for group in population.members:
            assert group.reward == pytest.approx(group.parts["reward"] - values["lambda"] * group.parts["cost"])
        expected = safety.rule.moved(expected, values["J_C"] - 2.0)
    assert len({values["lambda"] for _, values in rows}) == STEPS


def test_step_without_new_completions_keeps_lambda(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path, task(), num_iterations=2)
    assert [step for step, _ in lambdas(tmp_path, 0)] == [1, 3, 5]


def test_scorer_failure_loses_only_current_step(micro: Loaded, tmp_path: Path) -> None:
    cut, straight = tmp_path / "cut", tmp_path / "straight"
    with scorer(*["fine"] * (AN_EVALUATION + 2 * A_STEP), "few") as server, pytest.raises(ScorerFailed):
        run(micro, cut, task(scorer=server.url, on_scorer_failure="stop"))
    saved = latest_checkpoint(cut)
    assert saved is not None and step_of(saved) == 2

    run(micro, cut, task())
    run(micro, straight, task())
    assert end(cut) == end(straight)
    assert stream(cut, 0, 1) == stream(straight, 0)
    assert lambdas(cut, 0, 1) == lambdas(straight, 0)


def test_run_waiting_for_scorer_saves_last_step_when_stopped(micro: Loaded, tmp_path: Path) -> None:
    with scorer(*["fine"] * (AN_EVALUATION + A_STEP), "500") as server:
        waiting = StopsAsItWaits(SafetyOptions(**MOVING | {"scorer": server.url, "on_scorer_failure": "wait"}))
        with pytest.raises(Stopped, match="after step 1 of 5"):
            run(micro, tmp_path, waiting, waiting.stop)
    saved = latest_checkpoint(tmp_path)
    assert saved is not None and step_of(saved) == 1
