"""Runs with evaluations for tests of flags, written through ingest as a trainer writes them."""

from __future__ import annotations

from collections.abc import Sequence

from runs.flags import check_all_due
from runs.models import Experiment, Flag, Run
from tests.runs.attempt_records import answer
from tests.runs.full_runs import make_run, record
from workers.records import Metric, Record, Response

PLACES = ("Paris", "Rome", "Oslo", "Bern", "Cairo", "Lima", "Quito", "Hanoi", "Delhi", "Tunis")
HONEST = [f"The capital is {place}, I think." for place in PLACES]
EMPTY = [""] * len(PLACES)


def evaluation(
    step: int, texts: Sequence[str] = HONEST, reward: float = 0.0, accuracy: float = 1.0, kl: float = 0.1
) -> list[Record]:
    """Return the records of an evaluation in the trainer's order: its numbers, then one response for each place."""
    values = {"reward/mean": reward, "accuracy/contains": accuracy, "kl": kl}
    responses: list[Response] = [
        answer(
            step, text, prompt_id=f"p{i}", prompt=f"Capital of country {i}?", target=place, reward=reward,
            parts={"contains": float(place in text)},
        )
        for i, (text, place) in enumerate(zip(texts, PLACES, strict=True))
    ]  # fmt: skip
    return [Metric(step, values, {}), *responses]


def make_flagged_run(experiment: Experiment, seed: int = 0) -> Run:
    """Create a run that was honest at step 0 and writes nothing at step 10, and have it flagged."""
    run = make_run(experiment, seed=seed)
    record(run, [*evaluation(0, reward=-40.0), *evaluation(10, EMPTY, reward=-5.0, accuracy=0.0)])
    check_all_due(60)
    return run


def detectors(run: Run) -> list[str]:
    """Return the detectors of the run's open flags, sorted."""
    return sorted(Flag.objects.open().filter(run=run).values_list("detector", flat=True))
