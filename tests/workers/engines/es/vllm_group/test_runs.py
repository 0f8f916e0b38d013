"""A run with es.backend vllm: its engines hold the weights, and what it records equals a run that decodes itself."""

from __future__ import annotations

import math
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.workers.engine_nodes.job_here import start_nodes_here
from tests.workers.engines.es.runs import StopsAfter, learning, records_of, run
from tests.workers.engines.es.vllm_group.runs import decode_here
from workers.config import ConfigError
from workers.engines.context import Stopped, latest_checkpoint, step_of
from workers.engines.es.engine_group import EngineRefused, EnginesLost, commands, remote
from workers.engines.es.rebuild import rebuild
from workers.engines.es.vllm_group import startup
from workers.engines.stop import Interrupted, Stop
from workers.memory_plan import CardPlan
from workers.memory_plan.vllm import NO_KL
from workers.models import Loaded
from workers.models.save import weights_sha256
from workers.records import Alert, Checkpoint, Engines, Metric, Response

IN_ITERATION = 2 * 2 + 6 * 4 + 5
"""Scores of the first evaluation, the first iteration, and a part of the second."""


@pytest.fixture(scope="module")
def native(micro: Loaded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a run that decodes itself, one member at a time."""
    directory = tmp_path_factory.mktemp("native")
    run(micro, directory, rows=4)
    return directory


def evaluations(directory: Path, epoch: int = 0) -> list[tuple[int, dict[str, float]]]:
    return [(m.step, m.values) for m in records_of(directory, Metric, epoch) if "reward/mean" in m.values]


def master_of(directory: Path) -> str:
    checkpoint = latest_checkpoint(directory)
    assert checkpoint is not None
    assert step_of(checkpoint) == 3
    return weights_sha256(checkpoint)


@pytest.mark.parametrize("engines", [1, 2])
def test_run_equals_one_that_decodes_itself(
    micro: Loaded, tmp_path: Path, native: Path, monkeypatch: pytest.MonkeyPatch, engines: int
) -> None:
    decode_here(monkeypatch)

    run(micro, tmp_path, backend="vllm", engines=engines)

    assert learning(tmp_path) == learning(native)
    assert evaluations(tmp_path) == evaluations(native), "rewards, samples and the exact KL"
    assert master_of(tmp_path) == master_of(native)
    assert not (tmp_path / startup.SCRATCH).exists()
    reported = records_of(tmp_path, Engines)
    assert [len(record.engines) for record in reported] == ([2] * 3 if engines == 2 else [])


def test_engines_on_two_nodes_equal_one_that_decodes_itself(
    micro: Loaded, tmp_path: Path, native: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode_here(monkeypatch)
    start_nodes_here(monkeypatch)

    run(micro, tmp_path, backend="vllm", nodes=2)

    assert learning(tmp_path) == learning(native)
    assert master_of(tmp_path) == master_of(native)
    engines = records_of(tmp_path, Engines)[-1].engines
    assert [engine.state for engine in engines] == ["ready", "ready"]


def test_replay_log_rebuilds_weights(micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decode_here(monkeypatch)
    run(micro, tmp_path / "run", backend="vllm", anchor_decay=0.5)

    sha256 = rebuild(tmp_path / "run", 3, tmp_path / "rebuilt", from_base=True, device="cpu")

    assert records_of(tmp_path / "run", Checkpoint)[-1].sha256 == sha256
    distances = [m.values.get("es/anchor_distance", 0) for m in records_of(tmp_path / "run", Metric)]
    assert max(distances) > 0


def test_stopped_run_resumes_to_the_same_weights(
    micro: Loaded, tmp_path: Path, native: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode_here(monkeypatch)
    task = StopsAfter(IN_ITERATION)
    with pytest.raises(Stopped, match="after iteration 1 of 3"):
        run(micro, tmp_path, task, task.stop, backend="vllm")

    run(micro, tmp_path, backend="vllm")

    assert master_of(tmp_path) == master_of(native)
    assert learning(tmp_path)[-1] == learning(native)[0]


def test_other_back_end_resumes_run(
    micro: Loaded, tmp_path: Path, native: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode_here(monkeypatch)
    task = StopsAfter(IN_ITERATION)
    with pytest.raises(Stopped):
        run(micro, tmp_path, task, task.stop, backend="vllm")

    run(micro, tmp_path, rows=4)

    assert master_of(tmp_path) == master_of(native)


@pytest.mark.parametrize("fault", ["die 3", "hang 3"])
def test_lost_engine_catches_up(
    micro: Loaded, tmp_path: Path, native: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    decode_here(monkeypatch, fault)
    monkeypatch.setattr(commands, "MIN_LIMIT_SECONDS", 3.0)
    monkeypatch.setattr(remote, "RESTART_PAUSE_SECONDS", 0.0)

    run(micro, tmp_path, backend="vllm", engines=2)

    assert master_of(tmp_path) == master_of(native)
    lost = [alert.message for alert in records_of(tmp_path, Alert) if "catches up" in alert.message]
    assert lost
    assert all(("was killed by signal 9" if fault == "die 3" else "hangs") in message for message in lost)


def test_run_that_is_stopped_before_engines_are_ready_saves_nothing(
    micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode_here(monkeypatch, "never")
    stop = Stop()
    before = signal.signal(signal.SIGALRM, stop.set)
    signal.setitimer(signal.ITIMER_REAL, 2.0)
    try:
        with pytest.raises(Interrupted):
            run(micro, tmp_path, stop=stop, backend="vllm")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert latest_checkpoint(tmp_path) is None


def test_run_without_engines_fails_with_reasons(micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decode_here(monkeypatch, "skip")
    monkeypatch.setattr(remote, "RESTART_PAUSE_SECONDS", 0.0)

    with pytest.raises(EnginesLost, match="answered 0 of 1 members"):
        run(micro, tmp_path, backend="vllm")


def test_engine_with_other_logits_is_refused(micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decode_here(monkeypatch, "lie")

    with pytest.raises(ConfigError, match=r"es\.backend: is vllm, and its logits differ from those of transformers"):
        run(micro, tmp_path, backend="vllm")


def test_evaluations_without_room_have_no_kl(
    micro: Loaded, tmp_path: Path, native: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode_here(monkeypatch)
    planned = startup.plan_memory

    def plan_without_kl(*args: Any, **kwargs: Any) -> CardPlan:
        return replace(planned(*args, **kwargs), with_kl=False)

    monkeypatch.setattr(startup, "plan_memory", plan_without_kl)

    run(micro, tmp_path, backend="vllm")

    assert NO_KL in [alert.message for alert in records_of(tmp_path, Alert)]
    measured, expected = evaluations(tmp_path), evaluations(native)
    of_weights = ("kl", "likelihood", "accuracy/prefers_right")
    assert [key for _, values in measured for key in values if key.startswith(of_weights)] == []
    assert [
        (step, {key: value for key, value in values.items() if not key.startswith(of_weights)})
        for step, values in expected
    ] == measured
    assert all(response.kl is None for response in records_of(tmp_path, Response))
    assert all(math.isfinite(values["reward/mean"]) for _, values in measured)


def test_missing_environment_is_named(micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESWEB_VLLM_PYTHON", str(tmp_path / "no-python"))

    with pytest.raises(ConfigError, match=r"ESWEB_VLLM_PYTHON names .*no-python, which is no program"):
        run(micro, tmp_path, backend="vllm")


def test_other_version_of_vllm_is_refused(micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decode_here(monkeypatch)
    monkeypatch.setattr(startup, "PROGRAM", "workers.engines.es.vllm.program")

    with pytest.raises(EngineRefused, match=r"needs vLLM 0\.22\.1, and .* has none"):
        run(micro, tmp_path, backend="vllm")
