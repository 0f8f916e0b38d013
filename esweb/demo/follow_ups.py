"""Runs of the demonstration that follow its trainings: evaluations of what they answer, a probe of their weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.db import transaction

from runs.kinds import EVALUATION, PROBE, Kind
from runs.launching.commands import launch_run
from runs.models import Experiment, Run
from workers.config import RunConfig
from workers.executors.states import State


@dataclass(frozen=True)
class FollowUp(ABC):
    """Runs that examine trainings of an experiment, to be launched once these have ended."""

    kind: ClassVar[Kind]
    trainings: tuple[tuple[str, int], ...]
    """Preset and seed of each training to examine."""

    def is_missing(self, experiment: Experiment) -> bool:
        """Return whether the experiment has trainings to examine, and no run of the kind, not even in the trash."""
        return bool(self._trainings_in(experiment)) and not experiment.runs.of_kind(self.kind).exists()

    def launch(self, model: str, experiment: Experiment) -> list[Run]:
        """Launch the runs that are missing and return them. Trainings that did not succeed are not examined."""
        if not self.is_missing(experiment):
            return []
        succeeded = [run for run in self._trainings_in(experiment) if run.state == State.SUCCEEDED.value]
        with transaction.atomic():
            return [
                launch_run(experiment=experiment, person=experiment.owner, config=RunConfig.from_json(config))
                for config in self.configs(model, succeeded)
            ]

    @abstractmethod
    def configs(self, model: str, trainings: Sequence[Run]) -> Iterator[dict[str, Any]]:
        """Yield the config of each run that examines these trainings of a model."""

    def _trainings_in(self, experiment: Experiment) -> list[Run]:
        """Return the experiment's trainings to examine, as far as its owner has not deleted them."""
        visible = Run.objects.visible_to(experiment.owner).filter(experiment=experiment).trainings().order_by("pk")
        runs = (visible.filter(preset=preset, seed=seed).first() for preset, seed in self.trainings)
        return [run for run in runs if run is not None]


@dataclass(frozen=True)
class EvaluationPlan(FollowUp):
    """Evaluations of the model alone and of several steps of trainings, on the trained task and on prior tasks."""

    kind = EVALUATION
    points: int
    """Number of steps of each training."""
    prior_tasks: tuple[str, ...]
    """Names of tasks that the trainings do not train."""
    prompts: int
    samples: int
    max_new_tokens: int

    def configs(self, model: str, trainings: Sequence[Run]) -> Iterator[dict[str, Any]]:
        yield self._config(model, {})
        for run in trainings:
            yield self._config(run.run_config.model.path, {"run": f"run:{run.uid}", "points": self.points})

    def _config(self, model: str, section: dict[str, Any]) -> dict[str, Any]:
        return {
            "method": EVALUATION.method,
            "model": {"path": model},
            "evaluate": {**section, "prior_tasks": [{"name": name} for name in self.prior_tasks]},
            "evaluation": {"prompts": self.prompts, "samples": self.samples, "max_new_tokens": self.max_new_tokens},
        }


@dataclass(frozen=True)
class ProbePlan(FollowUp):
    """A single probe of all trainings, so that their weights are compared with each other."""

    kind = PROBE
    prompts: int
    max_new_tokens: int

    def configs(self, model: str, trainings: Sequence[Run]) -> Iterator[dict[str, Any]]:
        if trainings:
            yield {
                "method": PROBE.method,
                "model": {"path": model},
                "probe": {"runs": [f"run:{run.uid}" for run in trainings]},
                "evaluation": {"prompts": self.prompts, "max_new_tokens": self.max_new_tokens},
            }
