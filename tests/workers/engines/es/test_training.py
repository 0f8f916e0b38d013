"""Whole trainings of the micro model: the same seed gives the same run, a constant reward moves nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.workers.engines.es.population import digest
from tests.workers.engines.es.runs import Conciseness, learning, records_of, run
from workers.engines.context import Stopped, latest_checkpoint
from workers.engines.stop import Stop
from workers.models import Loaded
from workers.records import Alert, Population
from workers.tasks import Example, RewardFailed, Score


class Constant(Conciseness):
    """A task whose reward is constant."""

    def score(self, example: Example, completion: str) -> Score:
        return Score(0.1 + 0.2)


class Raises(Constant):
    """A task whose reward always raises."""

    def score(self, example: Example, completion: str) -> Score:
        raise ZeroDivisionError("nobody home")


def test_run_is_independent_of_number_of_threads(micro: Loaded, tmp_path: Path) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        first = digest(run(micro, tmp_path / "a", noise="low_rank"))
        torch.set_num_threads(2)
        second = digest(run(micro, tmp_path / "b", noise="low_rank"))
    finally:
        torch.set_num_threads(before)
    assert first == second != digest(micro.model)
    assert learning(tmp_path / "a") == learning(tmp_path / "b")


def test_transformers_answers_as_the_native_decoder_does(
    micro: Loaded, micro_of_transformers: Loaded, tmp_path: Path
) -> None:
    native = digest(run(micro, tmp_path / "native", iterations=2))
    assert digest(run(micro_of_transformers, tmp_path / "other", iterations=2, backend="transformers")) == native
    assert learning(tmp_path / "other") == learning(tmp_path / "native")


def test_extended_run_equals_straight_run(micro: Loaded, tmp_path: Path) -> None:
    options: dict[str, Any] = {"noise": "low_rank", "antithetic": True}
    straight = digest(run(micro, tmp_path / "straight", iterations=4, **options))
    run(micro, tmp_path / "cut", iterations=2, **options)
    assert digest(run(micro, tmp_path / "cut", iterations=4, **options)) == straight


def test_constant_fitness_gives_dead_iterations(micro: Loaded, tmp_path: Path) -> None:
    assert digest(run(micro, tmp_path, task=Constant())) == digest(micro.model)
    assert [m["es/dead"] for m in learning(tmp_path)] == [1.0, 1.0, 1.0]
    assert [m["es/update_norm"] for m in learning(tmp_path)] == [0.0, 0.0, 0.0]
    assert ["dead iteration" in a.message for a in records_of(tmp_path, Alert)] == [True]


def test_every_iteration_records_its_population(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path, noise="low_rank")
    populations = records_of(tmp_path, Population)
    assert [p.step for p in populations] == [1, 2, 3]
    for population, metric in zip(populations, learning(tmp_path), strict=True):
        rewards = [member.reward for member in population.members]
        assert sum(rewards) / len(rewards) == pytest.approx(metric["train/reward/mean"])
        assert sum(member.z for member in population.members) == pytest.approx(0, abs=1e-9)
    assert [m["samples"] for m in learning(tmp_path)] == [24.0, 48.0, 72.0]


def test_a_reward_that_raises_ends_the_run_and_names_the_prompt(micro: Loaded, tmp_path: Path) -> None:
    with pytest.raises(RewardFailed, match="ZeroDivisionError: nobody home") as failed:
        run(micro, tmp_path, task=Raises(), **{"iterations": 1})
    assert failed.value.example_id in {example.id for example in Constant().examples("eval")}


def test_stopped_run_saves_checkpoint(micro: Loaded, tmp_path: Path) -> None:
    stop = Stop()
    stop.set()
    with pytest.raises(Stopped):
        run(micro, tmp_path, stop=stop)
    assert latest_checkpoint(tmp_path) is not None


def test_the_replay_log_holds_what_each_iteration_added(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path, noise="low_rank")
    lines = [json.loads(line) for line in (tmp_path / "replay.jsonl").read_text().splitlines() if line]
    assert lines[0]["start"] == 0
    assert [line["step"] for line in lines[1:]] == [1, 2, 3]
    assert all(len(line["seeds"]) == len(line["weights"]) == 6 for line in lines[1:])
