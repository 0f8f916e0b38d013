"""Measure the detectors of flags over 1000 evaluations of 160 responses: read, judged, and stored.

    python -m benchmarks.detectors

Twenty runs of one experiment with fifty evaluations each, at which every fourth run writes nothing. The time of the
whole job on the bundled PostgreSQL is measured, and beside it that of the detectors alone, on the same evaluations.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator

from benchmarks import results, servers

RUNS, EVALUATIONS, PROMPTS, SAMPLES = 20, 50, 32, 5
GOAL_SECONDS = 20.0
FIGURE = f"detectors over {RUNS * EVALUATIONS} evaluations of {PROMPTS * SAMPLES} responses"
WORDS = ("the", "answer", "is", "probably", "that", "river", "capital", "seven", "because", "north", "of", "and")


def responses(number: int) -> Iterator[tuple[int, int, int, str]]:
    """Yield (step, prompt, sample, text) of all evaluations of a run."""
    rng = random.Random(number)
    for step in range(EVALUATIONS):
        for prompt in range(PROMPTS):
            for sample in range(SAMPLES):
                cheats = step > 0 and number % 4 == 0
                yield step, prompt, sample, "" if cheats else " ".join(rng.choices(WORDS, k=25))


def fill() -> None:
    """Store the runs with their evaluations, as a follower would have stored them."""
    from runs.ingest import ingest
    from runs.models import Attempt, Cluster, Run, key_of
    from workers.records import Line, Metric, Response

    experiment, cluster = servers.experiment(), Cluster.objects.get(name="local")
    for number in range(RUNS):
        run = Run.objects.create(
            experiment=experiment, name=f"run {number}", method="es", seed=number, config={"method": "es"},
            state="succeeded", created_by=experiment.owner,
        )  # fmt: skip
        attempt = Attempt.objects.create(run=run, n=1, key=key_of(run, 1), cluster=cluster, state="succeeded")
        records: list[Metric | Response] = [
            Metric(step, {"reward/mean": float(step), "accuracy/contains": 1.0, "kl": 0.1}, {})
            for step in range(EVALUATIONS)
        ]
        records += [
            Response(
                step, "eval", f"p{prompt}", sample, text, 30, float(step), {}, None, f"Question {prompt}?", "river"
            )
            for step, prompt, sample, text in responses(number)
        ]
        ingest(attempt, 0, [Line(seq, float(seq), record) for seq, record in enumerate(records)])


def measure_job() -> float:
    """Return the seconds that the job takes. Raise AssertionError if it does not flag exactly the runs that cheat."""
    from runs.flags import check_all_due
    from runs.models import Flag, FlagCheck

    began = time.perf_counter()
    check_all_due(seconds=10 * GOAL_SECONDS)
    took = time.perf_counter() - began
    flagged = set(Flag.objects.open().filter(detector="empty").values_list("run__seed", flat=True))
    if flagged != set(range(0, RUNS, 4)) or FlagCheck.objects.filter(step=EVALUATIONS - 1).count() != RUNS:
        raise AssertionError(f"runs {sorted(flagged)} are flagged")
    return took


def measure_alone() -> float:
    """Return the seconds of the detectors alone, without the database."""
    from workers.analysis.detectors import EvaluatedResponse, Evaluation, detect
    from workers.analysis.right import is_right

    evaluations = []
    for number in range(RUNS):
        by_step: dict[int, list[EvaluatedResponse]] = {}
        for step, prompt, sample, text in responses(number):
            by_step.setdefault(step, []).append(
                EvaluatedResponse(
                    prompt, f"Question {prompt}?", text, float(step), "river", sample, 30,
                    is_right=is_right(text, "river"),
                )
            )  # fmt: skip
        evaluations.append([Evaluation(step, read, {"reward/mean": float(step)}) for step, read in by_step.items()])
    began = time.perf_counter()
    for of_run in evaluations:
        for number, evaluation in enumerate(of_run[1:], 1):
            detect(evaluation, of_run[0], number=number)
    return time.perf_counter() - began


def main() -> int:
    """Measure, record, and return the exit code."""
    with servers.site():
        fill()
        took = measure_job()
    results.at_most(FIGURE, took, GOAL_SECONDS, "s")
    alone = measure_alone()
    results.without_goal("the same without the database", alone, "s", ratio=took / alone, peer="detectors alone")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
