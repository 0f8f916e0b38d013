"""The weights that an evaluation looks at: one model, steps of an ES run from its replay log, or saved checkpoints."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from workers import models
from workers.config import ConfigError, ModelConfig, Problem, RunConfig, TaskConfig
from workers.config.evaluate import EvaluateConfig
from workers.config.resources import locate
from workers.engines.context import step_of
from workers.engines.es.replay_history import CannotReplay, attempts_of
from workers.engines.es.replay_log import FILE
from workers.engines.es.walk import Walk, logged_steps
from workers.models import Loaded

DEFAULT_TOKENS = 128
"""Longest response of a model without a run, in tokens, if the config names no other."""
STEP_FOLDER = re.compile(r"step-\d+")
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
        raise ConfigError([Problem("evaluate.run", str(error))]) from error
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
        name = self._loaded.path.name
        self.steps = [step_of(self._loaded.path) if STEP_FOLDER.fullmatch(name) else 0]
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
        parent = _config_of(attempts_of(root))
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
        parent = _config_of(attempts)
        # Later attempts continue from checkpoints of earlier ones, so that a step's newest folder counts.
        folders = (folder for attempt in attempts for folder in sorted(attempt.glob("checkpoints/step-*")))
        saved = {step_of(folder): folder for folder in folders if STEP_FOLDER.fullmatch(folder.name)}
        self.steps = select_steps(sorted({0, *saved}), settings)
        self._saved = [_Saved(step, saved[step]) for step in self.steps if step]
        model = parent.model if parent else config.model
        self._model = replace(model, device=config.model.device)
        base = settings.base or _base_of(attempts, parent)
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


def _config_of(attempts: Sequence[Path]) -> RunConfig | None:
    """Return the config of a run of training, with its paths on this machine; None for a run without run.json, which
    somebody started by hand. Raise ConfigError for a run of another kind."""
    file = attempts[-1] / "run.json"
    if not file.exists():
        return None
    config = RunConfig.read(file)
    if not config.is_training:
        raise ConfigError([Problem("evaluate.run", f"is a run of method {config.method}; give a run of es or grpo")])
    return config


def _base_of(attempts: Sequence[Path], parent: RunConfig | None) -> str:
    """Return the base model of a run on this machine. Raise ConfigError if its name is unknown, or means nothing here.

    The run's data files are not looked up: an evaluation needs none of them.
    """
    if parent is None:
        reason = f"is needed, because {attempts[-1]} has no run.json that names the run's base model"
        raise ConfigError([Problem("evaluate.base", reason)])
    try:
        return locate(replace(parent, task=TaskConfig())).model.path
    except ConfigError as error:
        reasons = "; ".join(problem.message for problem in error.problems)
        reason = f"is needed, because the base model of the run cannot be used here: its name {reasons}"
        raise ConfigError([Problem("evaluate.base", reason)]) from error


def _load(model: ModelConfig, folder: Path) -> Loaded:
    return models.load(replace(model, path=str(folder)))
