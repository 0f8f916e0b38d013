"""Seconds by phase: measured on a CPU and on a GPU, added up over engines, and recorded with each iteration."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
import torch

from tests.workers.engines.es.population import population_of, prompts_of
from tests.workers.engines.es.runs import Conciseness, records_of, run
from workers.config import LoraConfig
from workers.engines.es.batches import Batch
from workers.engines.es.engine_group import BatchAnswers, EngineGroup
from workers.engines.es.phases import PHASES, EventTime, Phases
from workers.engines.es.report import Answers
from workers.models import Loaded
from workers.models.decoder import Completion
from workers.records import Engines, Metric, Population
from workers.tasks import Example, Score

CPU, GPU = torch.device("cpu"), torch.device("cuda")


def busy(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def test_phases_add_up_the_seconds_of_blocks() -> None:
    phases = Phases(CPU)
    began = time.perf_counter()
    for phase in ("decode", "noise", "decode"):
        with phases.measure(phase):
            busy(0.01)
    passed = time.perf_counter() - began
    seconds = phases.take()
    assert tuple(seconds) == PHASES
    assert seconds["decode"] >= 0.02 and seconds["noise"] >= 0.01
    assert seconds["prefill"] == seconds["update"] == 0
    assert sum(seconds.values()) <= passed


def test_take_begins_again_at_zero() -> None:
    phases = Phases(CPU)
    with phases.measure("update"):
        busy(0.001)
    assert phases.take()["update"] > 0
    assert phases.take() == dict.fromkeys(PHASES, 0.0)


def test_measure_counts_a_block_that_raises() -> None:
    phases = Phases(CPU)
    with pytest.raises(KeyError), phases.measure("decode"):
        busy(0.001)
        raise KeyError
    assert phases.take()["decode"] >= 0.001


def test_measure_refuses_an_unknown_phase() -> None:
    with pytest.raises(ValueError, match=r"phase must be one of noise, prefill, decode, update, not 'thinking'"):
        Phases(CPU).measure("thinking").__enter__()


def test_phases_count_every_thread() -> None:
    phases = Phases(CPU)

    def work() -> None:
        for _ in range(20):
            with phases.measure("decode"):
                busy(0.0005)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert phases.take()["decode"] >= 4 * 20 * 0.0005


class FakeEvent:
    """A CUDA event whose time is the number of events before it, in ms; reached after a wait for it."""

    recorded = 0

    def __init__(self, *, enable_timing: bool) -> None:
        assert enable_timing
        self.stream: object = None
        self.is_done = False

    def record(self, stream: object) -> None:
        self.stream = stream
        self.at = float(FakeEvent.recorded)
        FakeEvent.recorded += 1

    def synchronize(self) -> None:
        self.is_done = True

    def query(self) -> bool:
        return self.is_done

    def elapsed_time(self, end: FakeEvent) -> float:
        return end.at - self.at


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "Event", FakeEvent)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: f"stream of {device}")


@pytest.mark.usefixtures("events")
def test_phases_of_a_gpu_come_from_events_of_the_current_stream() -> None:
    phases = Phases(GPU)
    with phases.measure("prefill"):
        pass
    with phases.measure("decode"), phases.measure("noise"):
        pass
    assert {end.value.stream for _phase, _start, end in phases._spans} == {"stream of cuda"}
    assert phases.take() == pytest.approx({"noise": 0.001, "prefill": 0.001, "decode": 0.003, "update": 0})


@pytest.mark.usefixtures("events")
def test_take_finished_leaves_what_the_gpu_has_not_done() -> None:
    phases = Phases(GPU)
    for phase in ("noise", "decode"):
        with phases.measure(phase):
            pass
    phases._spans[0][2].wait()
    assert phases.take_finished() == pytest.approx({"noise": 0.001, "prefill": 0, "decode": 0, "update": 0})
    assert phases.take() == pytest.approx({"noise": 0, "prefill": 0, "decode": 0.001, "update": 0})


@pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no GPU")
def test_phases_of_a_gpu_hold_the_time_of_its_kernels() -> None:
    phases, x = Phases(GPU), torch.ones(4096, 4096, device=GPU)
    with phases.measure("decode"):
        for _ in range(50):
            x = x @ x * 1e-4
    assert isinstance(phases._spans[0][2], EventTime)
    assert 1e-4 < phases.take()["decode"] < 60


@pytest.mark.parametrize("options", [{"noise": "full"}, {"noise": "low_rank"}, {"lora": LoraConfig(rank=2)}])
def test_a_back_end_measures_each_phase(micro: Loaded, options: dict[str, object]) -> None:
    population, _, _ = population_of(micro, rows=8, **options)
    list(population.answers([1, 2], prompts_of(micro, 4)))
    answering = population.backend.phases.take()
    assert min(answering[phase] for phase in ("noise", "prefill", "decode")) > 0 == answering["update"]
    population.backend.update({1: 0.1})
    updating = population.backend.phases.take()
    assert updating["update"] > 0 == sum(updating[phase] for phase in PHASES[:-1])


def test_a_member_alone_is_measured_like_a_batch(micro: Loaded) -> None:
    population, _, _ = population_of(micro, rows=4)
    list(population.answers([1], prompts_of(micro, 4)))
    seconds = population.backend.phases.take()
    assert min(seconds[phase] for phase in ("noise", "prefill", "decode")) > 0


def test_transformers_are_measured_as_decode_alone(micro_of_transformers: Loaded) -> None:
    population, _, _ = population_of(micro_of_transformers, backend="transformers")
    list(population.answers([1], prompts_of(micro_of_transformers, 2)))
    seconds = population.backend.phases.take()
    assert seconds["decode"] > 0 == seconds["prefill"]


def times_of(directory: Path) -> list[dict[str, float]]:
    """Return the values of each iteration's metric."""
    return [metric.values for metric in records_of(directory, Metric) if "time/step_seconds" in metric.values]


@pytest.mark.parametrize("rows", [8, 4])
def test_phases_of_one_engine_fit_into_its_iterations(micro: Loaded, tmp_path: Path, rows: int) -> None:
    run(micro, tmp_path, rows=rows)
    iterations = times_of(tmp_path)
    assert len(iterations) == 3
    for values in iterations:
        seconds = {phase: values[f"time/{phase}_seconds"] for phase in PHASES}
        assert min(seconds.values()) > 0
        # Scoring is in a thread of its own, but while nothing else is done the engine is idle.
        assert sum(seconds.values()) + values["time/engine_idle_seconds"] <= values["time/step_seconds"]
        assert 0 < values["time/scoring_seconds"] < values["time/step_seconds"]


def test_tokens_per_second_use_time_until_last_answer(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path, iterations=1)
    (values,) = times_of(tmp_path)
    tokens = values["train/response/tokens_mean"] * 6 * 4
    assert tokens / values["time/step_seconds"] < values["es/tokens_per_second"]
    assert values["es/tokens_per_second"] < tokens / (values["time/decode_seconds"] + values["time/noise_seconds"])


class SlowToScore(Conciseness):
    """A task whose reward takes longer than the answers."""

    seconds = 0.02

    def score(self, example: Example, completion: str) -> Score:
        busy(self.seconds)
        return super().score(example, completion)


def test_scoring_seconds_measure_the_task(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path, SlowToScore(), iterations=1)
    (values,) = times_of(tmp_path)
    assert values["time/scoring_seconds"] >= 4 * SlowToScore.seconds
    assert values["time/engine_idle_seconds"] > 0


def test_answers_add_up_the_phases_of_engines() -> None:
    answers = Answers.empty(2)
    for number, noise, decode in ((0, 0.25, 1.0), (1, 0.5, 2.0)):
        completion = Completion([7], "x", False)
        answers.add(BatchAnswers(Batch(number, (number,)), [[completion]], number, {"noise": noise, "decode": decode}))
    answers.count_phases({"update": 0.125})
    assert answers.phases == {"noise": 0.75, "prefill": 0.0, "decode": 3.0, "update": 0.125}


def test_phases_of_other_engine_reach_training_process(
    micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EngineGroup, "take_own_phases", lambda self: {})
    run(micro, tmp_path, engines=2, iterations=4, rows=4)
    first, *later = times_of(tmp_path)
    assert first["time/update_seconds"] == 0, "its first update is in its next answers"
    assert all(sum(values[f"time/{phase}_seconds"] for values in later) > 0 for phase in PHASES)


def test_phases_of_two_engines_fit_into_the_time_of_both(micro: Loaded, tmp_path: Path) -> None:
    began = time.perf_counter()
    run(micro, tmp_path, engines=2, iterations=4, rows=4)
    passed = time.perf_counter() - began
    iterations = times_of(tmp_path)
    totals = {phase: sum(values[f"time/{phase}_seconds"] for values in iterations) for phase in PHASES}
    assert min(totals.values()) > 0
    assert sum(totals.values()) <= 2 * passed
    members = {member.engine for record in records_of(tmp_path, Population) for member in record.members}
    assert members == {0, 1}
    answering = sum(engine.seconds for engine in records_of(tmp_path, Engines)[-1].engines)
    assert totals["noise"] + totals["prefill"] + totals["decode"] <= answering
