"""The weights that an evaluation looks at: one model, steps of an ES run from its replay log, or saved checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from workers import models
from workers.config import ConfigError, ModelConfig, Problem, RunConfig
from workers.config.evaluate import DEFAULT_TOKENS, EvaluateConfig
from workers.engines.es.replay_history import CannotReplay, attempts_of
from workers.engines.es.replay_log import FILE
from workers.engines.es.walk import Walk, logged_steps
from workers.models import Loaded
from workers.probes.trainings import base_model, saved_checkpoints, step_in_name, training_config

RUN_FIELD = "evaluate.run"
Report = Callable[[str, float | None], None]


class Subject(Protocol):
    """Weights to evaluate. `reference` is loaded and still has the base model's weights, against which the KL is
    measured, until the first of `weights`; `has_reference` is false if there is nothing to measure it against.
    """

    reference: Loaded
    has_reference: bool
    steps: list[int]
    max_new_tokens: int

    def weights(self) -> Iterator[tuple[int, Any]]:
        """Yield each step with a model that has its weights, in ascending order."""


def open_subject(config: RunConfig, settings: EvaluateConfig, report: Report) -> Subject:
    """Return what the config names. Raise ConfigError if it does not exist here, or lacks a step."""
    if not settings.run:
        return SingleModel(config, settings, report)
    root = Path(settings.run)
    try:
        attempts = attempts_of(root)
        if any((attempt / FILE).exists() for attempt in attempts):
            return ReplayedRun(root, config, settings, report)
    except CannotReplay as error:
        raise ConfigError([Problem(RUN_FIELD, str(error))]) from error
    return SavedRun(attempts, config, settings, report)


class SingleModel:
    """A model or a checkpoint by itself. Its step is that of its folder's name, or 0."""

    def __init__(self, config: RunConfig, settings: EvaluateConfig, report: Report) -> None:
        report(f"loading the model {config.model.path}", None)
        self._loaded = models.load(config.model, report)
        self.has_reference = bool(settings.base)
        self.reference = self._loaded
        if settings.base:
            self.reference = models.load(replace(config.model, path=settings.base), report)
        self.steps = [step_in_name(self._loaded.path)]
        self.max_new_tokens = DEFAULT_TOKENS

    def weights(self) -> Iterator[tuple[int, Any]]:
        yield self.steps[0], self._loaded.model


class ReplayedRun:
    """Steps of an ES run, rebuilt from its replay log. Raise CannotReplay if its base model is missing."""

    has_reference = True

    def __init__(self, root: Path, config: RunConfig, settings: EvaluateConfig, report: Report) -> None:
        self.steps = select_steps(logged_steps(root), settings)
        self._walk = Walk(root, self.steps)
        other = models.resolve(settings.base, report) if settings.base else None
        # The base of the run itself, at its present place, or another model to measure the KL against.
        moved_to = other if other and self._walk.begins_with(other) else None
        self._loaded = self.reference = self._walk.load_base(moved_to, config.model.device)
        if other and not moved_to:
            self.reference = models.load(replace(config.model, path=str(other)), report)
        parent = training_config(attempts_of(root), RUN_FIELD)
        self.max_new_tokens = parent.max_new_tokens if parent else DEFAULT_TOKENS

    def weights(self) -> Iterator[tuple[int, Any]]:
        for step in self._walk.weights(self._loaded):
            yield step, self._loaded.model


@dataclass(frozen=True)
class _Saved:
    """A checkpoint folder and its step."""

    step: int
    folder: Path


class SavedRun:
    """Saved checkpoints of a run that keeps no replay log, such as GRPO; step 0 is its base model."""

    has_reference = True

    def __init__(self, attempts: Sequence[Path], config: RunConfig, settings: EvaluateConfig, report: Report) -> None:
        parent = training_config(attempts, RUN_FIELD)
        saved = saved_checkpoints(attempts)
        self.steps = select_steps(sorted({0, *saved}), settings)
        self._saved = [_Saved(step, saved[step]) for step in self.steps if step]
        model = parent.model if parent else config.model
        self._model = replace(model, device=config.model.device)
        base = settings.base or base_model(attempts, parent, "evaluate.base")
        report(f"loading the base model {base}", None)
        self.reference = models.load(replace(self._model, path=base), report)
        self.max_new_tokens = parent.max_new_tokens if parent else DEFAULT_TOKENS

    def weights(self) -> Iterator[tuple[int, Any]]:
        if 0 in self.steps:
            yield 0, self.reference.model
        for saved in self._saved:
            yield saved.step, _load(self._model, saved.folder).model


def select_steps(available: Sequence[int], settings: EvaluateConfig) -> list[int]:
    """Return the steps to evaluate, in order. Raise ConfigError for a listed step that is not available."""
    listed = settings.listed_steps()
    if missing := [step for step in listed if step not in available]:
        choices = ", ".join(map(str, available)) if len(available) <= 20 else f"{available[0]} to {available[-1]}"
        reason = f"names {', '.join(map(str, missing))}, which this run does not have; it has {choices}"
        raise ConfigError([Problem("evaluate.steps", reason)])
    if listed:
        return listed
    last, points = len(available) - 1, settings.points
    if points == 1:
        return [available[-1]]
    return [available[i] for i in sorted({round(j * last / (points - 1)) for j in range(points)})]


def _load(model: ModelConfig, folder: Path) -> Loaded:
    return models.load(replace(model, path=str(folder)))
