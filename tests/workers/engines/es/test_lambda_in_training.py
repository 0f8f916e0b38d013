"""ES with a cost: λ moves by the unperturbed weights, is resumed and replayed, and no scorer's failure is a fitness."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.workers.engines.es.runs import learning, records_of, run
from tests.workers.scorers import StopsAsItWaits, scorer
from workers.config import SafetyOptions
from workers.engines.context import Stopped, latest_checkpoint, step_of
from workers.engines.es.rebuild import rebuild
from workers.engines.es.state import State
from workers.models import Loaded
from workers.models.save import weights_sha256
from workers.records import Alert, Metric, Population, Status
from workers.scorer.client import ScorerFailed
from workers.tasks.safety import Multiplier, Safety

MOVING: dict[str, Any] = {"lambda_init": 1.0, "lambda_lr": 0.3, "lambda_ema": 0.5, "cost_offset": 2.0}
LAMBDA = ("lambda", "J_C", "J_C/smoothed", "J_C/threshold")


def has_iterated(directory: Path) -> bool:
    """Return whether the run in this directory has finished an iteration."""
    log = directory / "replay.jsonl"
    return log.exists() and b'"step":1,' in log.read_bytes()


def task(**options: Any) -> Safety:
    return Safety(SafetyOptions(**MOVING | options))


def asking(url: str, **options: Any) -> Safety:
    return task(scorer=url, on_scorer_failure="stop", **options)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry a failed scorer request almost without a pause."""
    monkeypatch.setattr("workers.scorer.client.FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr("workers.tasks.safety.scorer.FIRST_PAUSE_SECONDS", 0.01)


@pytest.fixture(scope="module")
def straight(micro: Loaded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a run of four iterations that saved every second one, with a scorer that never fails."""
    directory = tmp_path_factory.mktemp("straight")
    run(micro, directory, task=task(), iterations=4, checkpoint_every=2)
    return directory


def saved(directory: Path, step: int) -> str:
    """Return the sha256 of the weights of a step."""
    return weights_sha256(directory / f"checkpoints/step-{step:06d}")


def test_lambda_follows_its_rule_and_the_fitness_uses_it(straight: Path) -> None:
    safety = task()
    rows = learning(straight)
    assert rows[0]["lambda"] == 1.0
    expected = Multiplier(1.0)
    for row, population in zip(rows, records_of(straight, Population), strict=True):
        assert row["lambda"] == expected.value
        expected = safety.rule.moved(expected, row["J_C"] - 2.0)
        assert row["J_C/smoothed"] == pytest.approx(expected.smoothed)
        assert row["J_C/threshold"] == 0.0
        for member in population.members:
            parts = member.parts
            assert member.reward == pytest.approx(parts["reward"] - row["lambda"] * parts["cost"])
    assert len({row["lambda"] for row in rows}) == 4


def test_evaluation_records_cost_safe_ratio_and_quadrants(straight: Path) -> None:
    (before, *_, after) = [m.values for m in records_of(straight, Metric) if "cost/mean" in m.values]
    shares = {key: value for key, value in before.items() if key.startswith("safety/quadrant/")}
    assert sum(shares.values()) == pytest.approx(1.0)
    assert before["safety/safe_ratio"] == pytest.approx(shares["safety/quadrant/SH"] + shares["safety/quadrant/SU"])
    assert {"reward/mean", "cost/mean", "kl"} <= after.keys()
    assert "reward/cost/mean" not in before


def test_resumed_run_has_same_lambda_and_weights(micro: Loaded, straight: Path, tmp_path: Path) -> None:
    run(micro, tmp_path / "cut", task=task(), iterations=2)
    run(micro, tmp_path / "cut", task=task(), iterations=4)
    assert saved(tmp_path / "cut", 4) == saved(straight, 4)
    whole, rest = learning(straight), records_of(tmp_path / "cut", Metric, epoch=1)
    assert [m.values["lambda"] for m in rest if "lambda" in m.values] == [row["lambda"] for row in whole[2:]]


def test_rebuilt_checkpoint_has_lambda_of_its_step(straight: Path, tmp_path: Path) -> None:
    rebuild(straight, 2, tmp_path / "step-000002", from_base=True)
    rebuilt, as_saved = (State.load(p / "step-000002") for p in (tmp_path, straight / "checkpoints"))
    assert rebuilt.multiplier == as_saved.multiplier
    assert rebuilt.multiplier is not None and rebuilt.multiplier.smoothed is not None


@pytest.mark.parametrize("manner", ["few", "dead"])
def test_scorer_failure_ends_run_with_resumable_checkpoint(
    micro: Loaded, straight: Path, tmp_path: Path, manner: str
) -> None:
    fails = scorer(manner, begins=lambda: has_iterated(tmp_path / "cut"))
    with fails as server, pytest.raises(ScorerFailed, match="gave no scores"):
        run(micro, tmp_path / "cut", task=asking(server.url), iterations=2)
    latest = latest_checkpoint(tmp_path / "cut")
    assert latest is not None and step_of(latest) == 1
    assert [p.step for p in records_of(tmp_path / "cut", Population)] == [1]

    with scorer("fine") as server:
        run(micro, tmp_path / "cut", task=asking(server.url), iterations=2)
    assert saved(tmp_path / "cut", 2) == saved(straight, 2)


def test_run_waits_for_scorer_and_continues_unchanged(micro: Loaded, straight: Path, tmp_path: Path) -> None:
    with scorer(*["fine"] * 2, *["500"] * 4, "fine") as server:
        waiting = task(scorer=server.url, on_scorer_failure="wait")
        run(micro, tmp_path / "waited", task=waiting, iterations=2)
    assert saved(tmp_path / "waited", 2) == saved(straight, 2)
    statuses = [s.phase for s in records_of(tmp_path / "waited", Status)]
    assert "waiting" in statuses
    assert statuses[-1] != "waiting"
    (alert,) = [a for a in records_of(tmp_path / "waited", Alert) if a.message.startswith("waiting")]
    assert alert.level == "warning"


def test_run_waiting_for_scorer_saves_when_stopped(micro: Loaded, tmp_path: Path) -> None:
    with scorer("500", begins=lambda: has_iterated(tmp_path)) as server:
        waiting = StopsAsItWaits(SafetyOptions(**MOVING | {"scorer": server.url, "on_scorer_failure": "wait"}))
        with pytest.raises(Stopped, match="after iteration 1 of 2"):
            run(micro, tmp_path, task=waiting, stop=waiting.stop, iterations=2)
    latest = latest_checkpoint(tmp_path)
    assert latest is not None and step_of(latest) == 1
