"""Runs of method evaluate, with the values that the worker records of numbers of correct samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runs.models import Experiment, Run
from tests.runs.attempt_records import make_attempt
from tests.runs.full_runs import make_run, record
from workers.analysis.pass_at_k import estimate, ks, pass_all_k, pass_at_k
from workers.config import RunConfig
from workers.records import Metric

SAMPLES = 4


def make_training(experiment: Experiment, method: str = "es", seed: int = 0) -> Run:
    """Create a finished training of the task countdown."""
    run = make_run(experiment, f"{method}-micro", seed, "succeeded")
    run.config = RunConfig.from_json({**run.config, "task": {"name": "countdown"}}).to_json()
    run.save()
    return run


def make_evaluation(
    experiment: Experiment, training: Run | None = None, name: str = "evaluation", **settings: Any
) -> Run:
    """Create an evaluation without records. Its own task is countdown, the prior task conciseness.

    settings: those of the section `evaluation`.
    """
    evaluate: dict[str, Any] = {"prior_tasks": [{"name": "conciseness"}]}
    evaluate |= {"run": f"run:{training.uid}"} if training else {}
    data = {
        "method": "evaluate", "model": {"path": "micro"}, "task": {"name": "countdown"}, "evaluate": evaluate,
        "evaluation": {"samples": SAMPLES, **settings},
    }  # fmt: skip
    run = Run.objects.create(
        experiment=experiment, name=name, method="evaluate", seed=0, config=RunConfig.from_json(data).to_json(),
        state="succeeded", created_by=experiment.owner, parent=training,
    )  # fmt: skip
    make_attempt(run, state="succeeded")
    return run


def measured(correct: Sequence[int], samples: int = SAMPLES) -> dict[str, float]:
    """Return the values of one step and task, from the number of correct samples of each prompt."""
    out = {"evaluate/prompts": float(len(correct)), "evaluate/samples": float(samples)}
    for k in ks(samples):
        for name, rule in ((f"pass@{k}", pass_at_k), (f"pass^{k}", pass_all_k)):
            value = estimate([rule(c, samples, k) for c in correct], samples)
            out |= {name: value.mean, f"{name}/low": value.low, f"{name}/high": value.high}
    return out


def record_steps(run: Run, own: Mapping[int, Sequence[int]], prior: Mapping[int, Sequence[int]] | None = None) -> Run:
    """Record the steps of an evaluation, step -> the number of correct samples of each prompt, and its KL."""
    for step, correct in own.items():
        values = {**measured(correct), "kl": step / 100, "kl/se": 0.01, "reward/mean": step / 10}
        if prior:
            values |= {f"prior/conciseness/{key}": value for key, value in measured(prior[step]).items()}
        record(run, [Metric(step, values)])
    return run
