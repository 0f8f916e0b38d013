"""The experiment of the demonstration, and the tiny model that it trains, which is created first."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from runs.launching.commands import launch_run
from runs.models import Experiment, Run
from workers.config import preset

NAME = "Concise: ES or GRPO?"
QUESTION = "Does ES or GRPO learn to be concise, and what does it cost?"
SAFE_NAME = "Safe: ES or GRPO?"
SAFE_QUESTION = "Do ES and GRPO learn to refuse harm and still help, and where does λ come to rest?"


@dataclass(frozen=True)
class DemoOptions:
    """An experiment: presets with the seeds to run each with, in the order of launching, methods side by side."""

    name: str
    question: str
    runs: tuple[tuple[str, int], ...]

    def configs(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield (preset, config) of each run."""
        for name, seed in self.runs:
            yield name, {**preset(name).config, "seed": seed}


@dataclass(frozen=True)
class Plan:
    """The model to train, and the experiments with it."""

    model: str
    experiments: tuple[DemoOptions, ...]

    def configs(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield (preset, config) of each run of all experiments."""
        for options in self.experiments:
            yield from options.configs()


PLANS = {
    "tiny": Plan(
        "tiny",
        (
            DemoOptions(
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
            ),
            DemoOptions(SAFE_NAME, SAFE_QUESTION, (("es-safety-tiny", 1), ("grpo-safety-tiny", 1))),
        ),
    ),
    "micro": Plan(
        "micro",
        (
            DemoOptions(NAME, QUESTION, (("es-micro", 1), ("grpo-micro", 1), ("es-micro", 2), ("grpo-micro", 2))),
            DemoOptions(SAFE_NAME, SAFE_QUESTION, (("es-safety-micro", 1), ("grpo-safety-micro", 1))),
        ),
    ),
}


def launch(plan: Plan, person: User) -> list[Experiment]:
    """Create the experiments and launch their runs."""
    return [_launch(options, person) for options in plan.experiments]


def find_existing() -> Experiment | None:
    """Return the newest demonstration that has runs, or None."""
    return Experiment.objects.filter(name=NAME, runs__in=Run.objects.all()).order_by("-pk").first()


def _launch(options: DemoOptions, person: User) -> Experiment:
    experiment = Experiment.objects.create(name=options.name, question=options.question, owner=person)
    for name, config in options.configs():
        launch_run(experiment=experiment, person=person, config=config, preset=name)
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
