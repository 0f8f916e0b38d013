"""What the demonstration launches, through the same door as anybody's runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User

from runs.jobs import launch_run
from runs.models import Experiment, Run
from workers.config import preset

NAME = "Concise: ES or GRPO?"
QUESTION = "Does ES or GRPO learn to be concise, and what does it cost?"


@dataclass(frozen=True)
class Plan:
    """Presets with the seeds to run each with, in the order of launching: the two methods side by side."""

    model: str
    runs: tuple[tuple[str, int], ...]

    def configs(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """(preset, config) of each run."""
        for name, seed in self.runs:
            yield name, {**preset(name).config, "seed": seed}


PLANS = {
    "tiny": Plan(
        "tiny",
        (
            ("es-tiny", 1),
            ("grpo-tiny", 1),
            ("es-tiny", 2),
            ("grpo-tiny", 2),
            ("es-tiny-reckless", 1),
            ("grpo-tiny-reckless", 1),
        ),
    ),
    "micro": Plan("micro", (("es-micro", 1), ("grpo-micro", 1), ("es-micro", 2), ("grpo-micro", 2))),
}


def launch(plan: Plan, person: User) -> Experiment:
    """Makes the experiment and launches its runs."""
    experiment = Experiment.objects.create(name=NAME, question=QUESTION, owner=person)
    for name, config in plan.configs():
        launch_run(experiment=experiment, person=person, config=config, preset=name)
    return experiment


def existing() -> Experiment | None:
    """The newest demonstration that has runs, or None."""
    return Experiment.objects.filter(name=NAME, runs__in=Run.objects.all()).order_by("-pk").first()
