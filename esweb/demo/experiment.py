"""The experiments of the demonstration, and the tiny model that it trains, which is created first."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from esweb.demo.follow_ups import EvaluationPlan, FollowUp, ProbePlan
from runs.launching.commands import launch_run
from runs.launching.request import merged
from runs.models import Experiment, Run
from workers.config import RunConfig, preset

NAME = "Concise: ES or GRPO?"
QUESTION = "Does ES or GRPO learn to be concise, and what does it cost?"
SAFE_NAME = "Safe: ES or GRPO?"
GEOMETRY_NAME = "Geometry: shared or independent noise?"
GEOMETRY_QUESTION = "Does the published geometry of ES and GRPO survive noise that is independent for every weight?"
SAFE_QUESTION = "Do ES and GRPO learn to refuse harm and still help, and where does λ come to rest?"


@dataclass(frozen=True)
class DemoOptions:
    """An experiment: presets with the seeds to run each with, in the order of launching, methods side by side."""

    name: str
    question: str
    runs: tuple[tuple[str, int], ...]
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Preset -> settings that its runs change."""
    follow_ups: tuple[FollowUp, ...] = ()
    """Runs to launch after the trainings."""

    def configs(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield (preset, config) of each training."""
        for name, seed in self.runs:
            yield name, {**merged(preset(name).config, self.changes.get(name, {})), "seed": seed}


@dataclass(frozen=True)
class Plan:
    """The model to train, and the experiments with it."""

    model: str
    experiments: tuple[DemoOptions, ...]

    def configs(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield (preset, config) of each training of all experiments."""
        for options in self.experiments:
            yield from options.configs()

    def follow_ups_of(self, experiment: Experiment) -> tuple[FollowUp, ...]:
        """Return what is planned for the experiment after its trainings."""
        return next((options.follow_ups for options in self.experiments if options.name == experiment.name), ())


TINY = DemoOptions(
    NAME,
    QUESTION,
    (
        ("es-tiny", 1),
        ("grpo-tiny", 1),
        ("es-tiny", 2),
        ("grpo-tiny", 2),
        ("es-tiny-reckless", 1),
        ("grpo-tiny-reckless", 1),
    ),
)
SAFE_TINY = DemoOptions(SAFE_NAME, SAFE_QUESTION, (("es-safety-tiny", 1), ("grpo-safety-tiny", 1)))
EVALUATED_TINY = replace(
    TINY,
    # An ES run needs no checkpoints for an evaluation. With one every 10 steps, GRPO is evaluated at the same steps.
    changes={name: {"grpo": {"save_steps": 10}} for name in ("grpo-tiny", "grpo-tiny-reckless")},
    follow_ups=(
        EvaluationPlan(
            trainings=(("es-tiny", 1), ("grpo-tiny", 1), ("es-tiny-reckless", 1), ("grpo-tiny-reckless", 1)),
            points=7,
            prior_tasks=("countdown",),
            prompts=64,
            samples=16,
            max_new_tokens=40,
        ),
        ProbePlan(
            trainings=(("es-tiny", 1), ("es-tiny", 2), ("grpo-tiny", 1), ("grpo-tiny", 2)),
            prompts=16,
            max_new_tokens=40,
        ),
    ),
)
NOISES = tuple((preset, seed) for seed in (1, 2) for preset in ("es-tiny-full", "es-tiny-correlated", "grpo-tiny"))
GEOMETRY_TINY = DemoOptions(
    GEOMETRY_NAME,
    GEOMETRY_QUESTION,
    NOISES,
    changes={"grpo-tiny": {"grpo": {"save_steps": 10}}},
    follow_ups=(ProbePlan(trainings=tuple(sorted(NOISES)), prompts=16, max_new_tokens=40),),
)
PLANS = {
    "tiny": Plan("tiny", (TINY, SAFE_TINY)),
    "micro": Plan(
        "micro",
        (
            DemoOptions(NAME, QUESTION, (("es-micro", 1), ("grpo-micro", 1), ("es-micro", 2), ("grpo-micro", 2))),
            DemoOptions(SAFE_NAME, SAFE_QUESTION, (("es-safety-micro", 1), ("grpo-safety-micro", 1))),
        ),
    ),
    "tour": Plan("tiny", (EVALUATED_TINY, SAFE_TINY)),
    "geometry": Plan("tiny", (GEOMETRY_TINY,)),
}


def launch(plan: Plan, person: User) -> list[Experiment]:
    """Create the experiments and launch their trainings."""
    return [_launch(options, person) for options in plan.experiments]


def examine_trainings(plan: Plan, experiments: Sequence[Experiment]) -> list[Run]:
    """Launch the planned evaluations and probes of experiments whose trainings have ended, and return them."""
    planned = ((experiment, follow_up) for experiment in experiments for follow_up in plan.follow_ups_of(experiment))
    return [run for experiment, follow_up in planned for run in follow_up.launch(plan.model, experiment)]


def lacks_follow_ups(plan: Plan, experiment: Experiment) -> bool:
    """Return whether evaluations or probes are planned for the experiment and none was launched."""
    return any(follow_up.is_missing(experiment) for follow_up in plan.follow_ups_of(experiment))


def find_existing(plan: Plan) -> Experiment | None:
    """Return the newest first experiment of the plan that has runs, or None."""
    name = plan.experiments[0].name
    return Experiment.objects.filter(name=name, runs__in=Run.objects.all()).order_by("-pk").first()


def _launch(options: DemoOptions, person: User) -> Experiment:
    experiment = Experiment.objects.create(name=options.name, question=options.question, owner=person)
    for name, config in options.configs():
        launch_run(experiment=experiment, person=person, config=RunConfig.from_json(config), preset=name)
    return experiment


class ModelFailed(Exception):
    """The model could not be created; its program's output is above."""


def make(name: str) -> None:
    """Create the model in the cache that runs use, unless it exists, and report progress. Raise ModelFailed."""
    out = Path(settings.DATA_DIR) / "models" / name
    argv = [sys.executable, "-m", "workers.models.tiny", "--name", name, "--out", str(out)]
    process = subprocess.run(argv, cwd=settings.BASE_DIR, env=_environment(), stdout=subprocess.DEVNULL, check=False)
    if process.returncode != 0:
        raise ModelFailed(f"The {name} model could not be built (exit code {process.returncode}).")


def _environment() -> dict[str, str]:
    return {
        **os.environ,
        "ESWEB_CACHE": str(Path(settings.CACHE_DIR)),
        "OMP_WAIT_POLICY": "PASSIVE",
        "OMP_NUM_THREADS": str(settings.LOCAL_SLOTS),
    }
