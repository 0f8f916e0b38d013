"""Runs as pages meet them: with records of every kind, written through ingest."""

from __future__ import annotations

from runs.ingest import ingest
from runs.models import Experiment, Run
from tests.runs.attempt_records import answer, lines, make_attempt
from workers.config import RunConfig, preset
from workers.records import Alert, Checkpoint, Engine, Engines, Member, Metric, Population, Record, Status


def make_run(experiment: Experiment, name: str = "es-tiny", seed: int = 0, state: str = "running") -> Run:
    """Create a run from a preset, with one attempt and no records."""
    config = RunConfig.from_json({**preset(name).config, "seed": seed}).to_json()
    run = Run.objects.create(
        experiment=experiment, name=f"{name} seed {seed}", preset=name, method=config["method"], seed=seed,
        config=config, state=state, created_by=experiment.owner,
    )  # fmt: skip
    make_attempt(run, state=state)
    return run


def end(run: Run, state: str = "interrupted") -> None:
    """Ends the run's newest attempt, so that another one may follow."""
    run.attempts.open().update(state=state)


def evaluation(step: int, reward: float) -> Metric:
    """Return the metrics that the evaluator reports at a step."""
    values = {"reward/mean": reward, "accuracy/right": 0.9, "kl": step / 100}
    return Metric(step, values, {"tokens": 100.0 * step, "samples": 10.0 * step, "gpu_seconds": 0.0})


def a_bit_of_everything(steps: tuple[int, ...] = (0, 5)) -> list[Record]:
    """Metrics, a population and its engines, answers, a checkpoint, a status and an alert."""
    out: list[Record] = [Status("training", "iteration 5 of 60", 0.1)]
    for step in steps:
        out += [
            evaluation(step, -45.9 + step),
            Metric(step, {"train/reward/mean": -40.0 + step, "es/dead": 0.0, "time/step_seconds": 0.5}),
            Population(step, (Member(0, -40.0 + step, z=1.0, engine=0), Member(1, -42.0 + step, z=-1.0, engine=1))),
            two_engines(step),
            answer(step, "Madrid", parts={"exact": 1.0, "contains": 1.0}, kl=0.2),
            answer(step, "<script>alert(1)</script>", sample=1, parts={"exact": 0.0, "contains": 0.0}),
        ]
    return [*out, Checkpoint(5, "checkpoints/step-000005", 1_550_000, "ab" * 32), Alert("warning", "dead iteration", 5)]


def two_engines(step: int) -> Engines:
    """Return the report of two engines of equal weights that have answered for one member in each step."""
    done = {"members": step + 1, "tokens": 50 * (step + 1), "seconds": 0.25 * (step + 1), "compared_at": step}
    values = {"state": "ready", "weights": f"{step:02x}" * 32}
    return Engines(
        step, 32, (Engine(0, device="cuda:0", **values, **done), Engine(1, device="cuda:1", **values, **done))
    )


def record(run: Run, records: list[Record]) -> None:
    """Ingests records as the run's newest attempt would have written them, after what it wrote before."""
    attempt = run.newest_attempt()
    assert attempt is not None
    file = attempt.record_files.filter(epoch=1).first()
    ingest(attempt, 1, lines(records, file.next_seq if file else 0))
