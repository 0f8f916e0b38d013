"""Evaluations of the demonstration: what some of its trainings, and the model alone, answer on several tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from runs.launching.commands import launch_run
from runs.models import EVALUATE, Experiment, Run
from workers.executors.states import State


@dataclass(frozen=True)
class EvaluationPlan:
    """Evaluations of the model alone and of several steps of trainings, on the trained task and on prior tasks."""

    trainings: tuple[tuple[str, int], ...]
    """Preset and seed of each training to evaluate."""
    points: int
    """Number of steps of each training."""
    prior_tasks: tuple[str, ...]
    """Names of tasks that the trainings do not train."""
    prompts: int
    samples: int
    max_new_tokens: int

    def trainings_in(self, experiment: Experiment) -> list[Run]:
        """Return the experiment's trainings to evaluate, as far as its owner has not deleted them."""
        visible = Run.objects.visible_to(experiment.owner).filter(experiment=experiment).trainings().order_by("pk")
        runs = (visible.filter(preset=preset, seed=seed).first() for preset, seed in self.trainings)
        return [run for run in runs if run is not None]

    def configs(self, model: str, trainings: Iterable[Run]) -> Iterator[dict[str, Any]]:
        """Yield the config of each evaluation: of the model, then of the trainings."""
        yield self._config(model, {})
        for run in trainings:
            yield self._config(run.run_config.model.path, {"run": f"run:{run.uid}", "points": self.points})

    def _config(self, model: str, section: dict[str, Any]) -> dict[str, Any]:
        return {
            "method": EVALUATE,
            "model": {"path": model},
            "evaluate": {**section, "prior_tasks": [{"name": name} for name in self.prior_tasks]},
            "evaluation": {"prompts": self.prompts, "samples": self.samples, "max_new_tokens": self.max_new_tokens},
        }


def needs_evaluations(plan: EvaluationPlan, experiment: Experiment) -> bool:
    """Return whether the experiment has trainings to evaluate, and no evaluation, not even one in the trash."""
    return bool(plan.trainings_in(experiment)) and not experiment.runs.filter(method=EVALUATE).exists()


def launch_evaluations(plan: EvaluationPlan, model: str, experiment: Experiment) -> list[Run]:
    """Launch the experiment's evaluations and return them; launch none if it needs none.

    Trainings that did not succeed are not evaluated.
    """
    if not needs_evaluations(plan, experiment):
        return []
    succeeded = [run for run in plan.trainings_in(experiment) if run.state == State.SUCCEEDED.value]
    with transaction.atomic():
        return [
            launch_run(experiment=experiment, person=experiment.owner, config=config)
            for config in plan.configs(model, succeeded)
        ]
