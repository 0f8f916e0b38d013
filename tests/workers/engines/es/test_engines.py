"""Several engines share a population and end with the bits of one, also after failures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.workers.engines.es.engine_faults import FREEZE, KILL, Faults, inject, wait_for_restarts
from tests.workers.engines.es.population import digest
from tests.workers.engines.es.runs import Conciseness, learning, records_of, run
from workers.engine_nodes.links import EngineCommand
from workers.engines.es.engine_group import EnginesDiffer, process, remote, remote_group
from workers.engines.es.engine_group.failures import describe_difference
from workers.engines.stop import Stop
from workers.models import Loaded
from workers.records import Alert, Engines, Metric, Population
from workers.tasks import Example, Score

IN_PAIRS: dict[str, Any] = {"rows": 8, "hash_every": 1}
"""Two members with four prompts each in a batch: three batches an iteration."""
KINDS: dict[str, dict[str, Any]] = {
    "full": {"noise": "full"},
    "low_rank": {"noise": "low_rank"},
    "correlated": {"noise": "correlated"},
    "lora": {"lora": {"rank": 2}},
    "antithetic": {"noise": "low_rank", "antithetic": True, "layer_scale": True},
}


def log_of(directory: Path) -> bytes:
    return (directory / "replay.jsonl").read_bytes()


def restarts(directory: Path) -> int:
    """Return how often engines were started again in a run's first epoch."""
    return sum(engine.restarts for engine in records_of(directory, Engines)[-1].engines)


@pytest.mark.parametrize("kind", KINDS)
def test_three_engines_give_same_weights_and_log_as_one(micro: Loaded, tmp_path: Path, kind: str) -> None:
    options = IN_PAIRS | KINDS[kind]
    single = digest(run(micro, tmp_path / "one", **options))
    three = digest(run(micro, tmp_path / "three", engines=3, **options))
    assert three == single != digest(micro.model)
    assert log_of(tmp_path / "three") == log_of(tmp_path / "one")
    assert learning(tmp_path / "three") == learning(tmp_path / "one")
    populations = records_of(tmp_path / "three", Population)
    assert {member.engine for population in populations for member in population.members} == {0, 1, 2}


def test_engines_are_reported(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path, engines=2, **IN_PAIRS)
    reports = records_of(tmp_path, Engines)
    assert [report.step for report in reports] == [1, 2, 3]
    for report in reports:
        assert [engine.number for engine in report.engines] == [0, 1]
        assert sum(engine.members for engine in report.engines) == 6 * report.step
        assert {(engine.state, engine.compared_at) for engine in report.engines} == {("ready", report.step)}
        assert len({engine.weights for engine in report.engines}) == 1
        assert report.bytes <= 16 * 6
    metrics = [metric.values for metric in records_of(tmp_path, Metric) if "es/update_norm" in metric.values]
    for values in metrics:
        assert values["es/update_bytes_per_member"] == reports[0].bytes / 6
        assert 0 <= values["time/engine_idle_seconds"] < 2 * values["time/step_seconds"]


def test_run_resumes_with_another_number_of_engines(micro: Loaded, tmp_path: Path) -> None:
    options = IN_PAIRS | {"noise": "low_rank"}
    straight = digest(run(micro, tmp_path / "straight", iterations=5, **options))
    run(micro, tmp_path / "cut", iterations=2, engines=2, **options)
    run(micro, tmp_path / "cut", iterations=4, engines=1, **options)
    assert digest(run(micro, tmp_path / "cut", iterations=5, engines=3, **options)) == straight


@pytest.mark.parametrize(
    "plan",
    [{1: KILL, 9: FREEZE}, {6: KILL, 14: KILL}, {5: FREEZE, 16: KILL}],
    ids=["at the start", "twice", "as it answers"],
)
def test_dead_or_hanging_engine_is_restarted_and_catches_up(
    micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: dict[int, Any]
) -> None:
    options = IN_PAIRS | {"noise": "low_rank", "iterations": 4, "checkpoint_every": 2}
    straight = digest(run(micro, tmp_path / "straight", **options))
    faults = Faults(plan)
    inject(monkeypatch, faults)
    assert digest(run(micro, tmp_path / "faults", engines=2, **options)) == straight
    assert log_of(tmp_path / "faults") == log_of(tmp_path / "straight")
    assert len(faults.sent) == restarts(tmp_path / "faults") == 2
    alerts = [alert.message for alert in records_of(tmp_path / "faults", Alert)]
    assert sum("restarts and catches up" in message for message in alerts) == 2
    metrics = [metric.values for metric in records_of(tmp_path / "faults", Metric) if "es/update_norm" in metric.values]
    assert all(0 < values["time/decode_seconds"] <= 2 * values["time/step_seconds"] for values in metrics)


def test_engine_that_never_starts_is_given_up(micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "PROGRAM", "tests.no_such_program")
    monkeypatch.setattr(remote, "RESTART_PAUSE_SECONDS", 0.01)
    wait_for_restarts(monkeypatch)
    with_two = digest(run(micro, tmp_path / "two", engines=2, **IN_PAIRS))
    assert with_two == digest(run(micro, tmp_path / "one", **IN_PAIRS))
    assert records_of(tmp_path / "two", Engines)[-1].engines[1].state == "given_up"
    *_, given_up = records_of(tmp_path / "two", Alert)
    assert given_up.message.startswith("engine 1 ended with exit code 1; it is stopped after 4 failures in a row")


def test_flipped_bit_ends_run_at_next_comparison(
    micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "PROGRAM", "tests.workers.engines.es.flipping_engine")
    with pytest.raises(EnginesDiffer, match=r"differ after step 4: engine 0 has \w{8}, engine 1 has \w{8}"):
        run(micro, tmp_path, engines=2, iterations=9, **IN_PAIRS | {"hash_every": 2})
    assert [metric.step for metric in records_of(tmp_path, Metric) if "es/update_norm" in metric.values] == [1, 2, 3, 4]
    last = records_of(tmp_path, Engines)[-1]
    assert {engine.compared_at for engine in last.engines} == {4}
    assert len({engine.weights for engine in last.engines}) == 2
    assert not list(tmp_path.glob("checkpoints/*")), "no checkpoint may hold weights that the engines do not share"


class StopsIn(Conciseness):
    """A task that stops the run when it scores the fifth iteration's answers."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.stop, self._log = Stop(), directory / "replay.jsonl"

    def score(self, example: Example, completion: str) -> Score:
        if self._log.exists() and b'"step":4,' in self._log.read_bytes():
            self.stop.set()
        return super().score(example, completion)


def test_stopped_run_compares_engines_before_saving(
    micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "PROGRAM", "tests.workers.engines.es.flipping_engine")
    task = StopsIn(tmp_path)
    with pytest.raises(EnginesDiffer, match="differ after step 4"):
        run(micro, tmp_path, task, task.stop, engines=2, iterations=9, **IN_PAIRS | {"hash_every": 1000})
    assert not list(tmp_path.glob("checkpoints/*"))


def test_late_engine_catches_up_during_run(micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_group, "START_WAIT_SECONDS", 0.0)
    wait_for_restarts(monkeypatch, from_step=6)
    late = digest(run(micro, tmp_path / "late", engines=2, iterations=9, **IN_PAIRS))
    assert late == digest(run(micro, tmp_path / "one", iterations=9, **IN_PAIRS))
    last = records_of(tmp_path / "late", Engines)[-1].engines[1]
    assert (last.state, last.restarts, last.compared_at) == ("ready", 0, 9)
    assert 0 < last.members < 9 * 6


def test_error_outside_engines_ends_run(micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object) -> str:
        raise MemoryError("no room for a hash")

    monkeypatch.setattr(process.EngineProcess, "weights_hash", breaks)
    with pytest.raises(MemoryError, match="no room for a hash"):
        run(micro, tmp_path, engines=2, **IN_PAIRS)


@pytest.mark.parametrize(
    ("sends", "reason"), [("half", "its message did not end for 1 s"), ("nonsense", "sent no message: ")]
)
def test_engine_with_incomplete_message_is_lost(monkeypatch: pytest.MonkeyPatch, sends: str, reason: str) -> None:
    monkeypatch.setattr(process, "PROGRAM", "tests.workers.engines.es.broken_engine")
    monkeypatch.setattr(process, "STUCK_SECONDS", 1)
    engine = process.EngineProcess.here(EngineCommand(sys.executable, process.PROGRAM, {"BROKEN_ENGINE_SENDS": sends}))
    with pytest.raises(process.EngineLost, match=reason):
        engine.catch_up("x")


def test_differing_engine_is_named() -> None:
    assert "engine 2 must have the weights of the other 2, but does not" in describe_difference(
        {0: "a" * 32, 1: "a" * 32, 2: "b" * 32}, 7
    )
    assert "engine 0 must have" in describe_difference({0: "b" * 32, 1: "a" * 32, 2: "a" * 32}, 7)


def test_idle_engines_are_reported(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path, engines=2, iterations=1)
    idle, crowded = records_of(tmp_path, Alert)
    assert idle.message.startswith("2 engines share 1 batch of at most 6 members, so some are idle")
    assert crowded.message == "2 engines share 1 core; compute.cores should be at least 2"
