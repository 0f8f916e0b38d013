"""Measure the page that compares evaluations: an ES and a GRPO training, three steps each, 64 samples of 200 prompts.

    python -m benchmarks.evaluations

The real page over HTTP from one web server process: pass@k and pass^k against k, the steps of two tasks, the prompts
that only one of the two solves, from 78 000 responses, and the protocols. The goal is that of the slowest twentieth.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchmarks import results, servers
from benchmarks.closed_loop import Page, get, percentile

if TYPE_CHECKING:
    from runs.models import Experiment, Run
    from workers.records import Metric, Response

PROMPTS, SAMPLES, STEPS = 200, 64, (0, 50, 100)
ROUNDS, GOAL_MS = 30, 300.0
FIGURE = f"pass@k page of {SAMPLES} samples x {PROMPTS} prompts, p95"
PRIOR = "conciseness"
GAIN = {"es": 0.25, "grpo": 0.4}
"""How much training lifts the chance that a sample is correct."""


def counts(method: str, step: int, task: str) -> list[int]:
    """Return the number of correct samples of each prompt. A task that was not trained loses."""
    chances = random.Random(task)
    draws = random.Random(f"{method} {step} {task}")
    change = GAIN[method] * step / STEPS[-1] * (-0.3 if task == PRIOR else 1.0)
    out = []
    for _prompt in range(PROMPTS):
        chance = chances.betavariate(0.3, 1.2)
        chance += change * (1 - chance) if change > 0 else change * chance
        out.append(sum(draws.random() < chance for _sample in range(SAMPLES)))
    return out


def values(correct: list[int]) -> dict[str, float]:
    """Return what an evaluation records of one task and step."""
    from workers.analysis.pass_at_k import estimate, ks, pass_all_k, pass_at_k

    estimates = {"accuracy/greedy": estimate([float(c > SAMPLES / 2) for c in correct])}
    for k in ks(SAMPLES):
        estimates[f"pass@{k}"] = estimate([pass_at_k(c, SAMPLES, k) for c in correct], SAMPLES)
        estimates[f"pass^{k}"] = estimate([pass_all_k(c, SAMPLES, k) for c in correct], SAMPLES)
    out = {"evaluate/prompts": float(PROMPTS), "evaluate/samples": float(SAMPLES)}
    for key, e in estimates.items():
        out |= {key: e.mean, f"{key}/low": e.low, f"{key}/high": e.high}
    return out


def records(method: str) -> Iterator[Metric | Response]:
    """Yield the records of an evaluation of a training by this method."""
    from workers.records import Metric, Response

    for step in STEPS:
        own, prior = counts(method, step, "countdown"), counts(method, step, PRIOR)
        for prompt, correct in enumerate(own):
            for sample in range(SAMPLES + 1):
                is_correct = float(correct > SAMPLES / 2 if sample == 0 else sample <= correct)
                text = f"<answer>{prompt} + {sample}</answer>"
                parts = {"correct": is_correct}
                yield Response(step, "eval", f"p{prompt}", sample, text, 12, is_correct, parts, 0.1, f"Make {prompt}.")
        moved = {"kl": GAIN[method] * step / STEPS[-1], "entropy": 2.0 - step / STEPS[-1]}
        yield Metric(step, {**values(own), **moved, **{f"prior/{PRIOR}/{k}": v for k, v in values(prior).items()}})


def fill() -> Experiment:
    """Store both trainings and their evaluations, as a follower would have stored them. Return their experiment."""
    experiment = servers.experiment()
    for method in GAIN:
        training = _run(experiment, method, {"method": method, method: {}, "task": {"name": "countdown"}})
        evaluate = {"run": f"run:{training.uid}", "prior_tasks": [{"name": PRIOR}]}
        config = {
            "method": "evaluate", "task": {"name": "countdown"}, "evaluate": evaluate,
            "evaluation": {"prompts": PROMPTS, "samples": SAMPLES},
        }  # fmt: skip
        _store(_run(experiment, f"evaluate {method}", config, parent=training), method)
    return experiment


def _run(experiment: Experiment, name: str, config: dict[str, object], parent: Run | None = None) -> Run:
    from runs.models import Run
    from workers.config import RunConfig

    whole = RunConfig.from_json(config).to_json()
    return Run.objects.create(
        experiment=experiment, name=name, method=whole["method"], seed=0, config=whole, state="succeeded",
        created_by=experiment.owner, parent=parent,
    )  # fmt: skip


def _store(run: Run, method: str) -> None:
    from runs.ingest import ingest
    from runs.models import Attempt, Cluster, key_of
    from workers.records import Line

    cluster = Cluster.objects.get(name="local")
    attempt = Attempt.objects.create(run=run, n=1, key=key_of(run, 1), cluster=cluster, state="succeeded")
    lines = [Line(seq, float(seq), record) for seq, record in enumerate(records(method))]
    for first in range(0, len(lines), 5000):
        ingest(attempt, 0, lines[first : first + 5000])


def fetch(web: servers.Web, address: str) -> list[Page]:
    """Return the pages of all rounds, after one that warms up. Raise AssertionError if it does not show everything."""
    headers = servers.browser_headers()
    pages = [get(web.port, address, headers) for _ in range(ROUNDS + 1)]
    text = pages[0].body.decode()
    missing = [part for part in ('id="chart-passk', "solve-overlap", f"{PRIOR}, not trained") if part not in text]
    if missing:
        raise AssertionError(f"{address} does not show {', '.join(missing)}")
    return pages[1:]


def main() -> int:
    """Measure, record, and return the exit code."""
    from django.urls import reverse

    with servers.site(), servers.web() as web:
        experiment = fill()
        servers.settle()
        pages = fetch(web, reverse("evaluations", args=[experiment.pk]))
    slow, typical = (1000 * percentile([page.seconds for page in pages], part) for part in (0.95, 0.5))
    results.at_most(FIGURE, slow, GOAL_MS, "ms")
    results.without_goal("the same, median", typical, "ms")
    results.without_goal("the page, gzip", max(page.size for page in pages) / 1000, "kB")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
