"""What the demonstration launches, through the same door as anybody's runs."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User

from runs.jobs import launch_run
from runs.models import Experiment, Run
from workers.config import preset

NAME = "Concise: ES or GRPO?"
QUESTION = "Does ES or GRPO learn to be concise, and what does it cost?"
Config = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """Presets with the seeds to run each with, in the order of launching: the two methods side by side."""

    model: str
    runs: tuple[tuple[str, int], ...]
    changes: Config = field(default_factory=dict)
    """Preset -> what to change of its config."""

    def configs(self) -> Iterator[tuple[str, Config]]:
        """(preset, config) of each run."""
        for name, seed in self.runs:
            config = _merged(preset(name).config, self.changes.get(name, {}))
            yield name, {**config, "seed": seed}


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
    # The micro presets only exercise the machinery; with a little more of everything both methods learn in seconds.
    "micro": Plan(
        "micro",
        (("es-micro", 1), ("grpo-micro", 1), ("es-micro", 2), ("grpo-micro", 2)),
        {
            "es-micro": {"es": {"iterations": 20, "population": 16, "prompts": 16}, "evaluation": {"every": 4}},
            "grpo-micro": {
                "grpo": {
                    "max_steps": 20,
                    "learning_rate": 0.003,
                    "per_device_train_batch_size": 64,
                    "num_generations": 8,
                },
                "evaluation": {"every": 4},
            },
        },
    ),
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


def _merged(config: Config, changes: Config) -> Config:
    merged = copy.deepcopy(config)
    for key, value in changes.items():
        merged[key] = _merged(merged.get(key, {}), value) if isinstance(value, dict) else value
    return merged
