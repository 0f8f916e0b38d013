"""Trainings as evaluations and probes find them on disk: their config, their base model, their saved checkpoints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from workers.config import ConfigError, Problem, RunConfig, TaskConfig
from workers.config.methods import EXAMINABLE_TEXT, METHODS
from workers.config.resources import locate
from workers.engines.context import step_of

STEP_FOLDER = re.compile(r"step-\d+")


def step_in_name(folder: Path) -> int:
    """Return the step of a checkpoint by its folder's name; 0 for a model's folder."""
    return step_of(folder) if STEP_FOLDER.fullmatch(folder.name) else 0


def training_config(attempts: Sequence[Path], field: str) -> RunConfig | None:
    """Return the config of a training, with its paths as they were written; None without run.json, which
    earlier versions wrote only for runs of a site.

    Raise ConfigError, with the path `field` of the config that names the run, for a run that saves no weights.
    """
    file = attempts[-1] / "run.json"
    if not file.exists():
        return None
    config = RunConfig.read(file)
    if not METHODS[config.method].saves_weights:
        raise ConfigError([Problem(field, f"is a run of method {config.method}; give a run of {EXAMINABLE_TEXT}")])
    return config


def saved_checkpoints(attempts: Sequence[Path]) -> dict[int, Path]:
    """Return step -> folder of its newest checkpoint, in ascending order: later attempts continue from earlier ones."""
    folders = [folder for attempt in attempts for folder in attempt.glob("checkpoints/step-*")]
    saved = {step_of(folder): folder for folder in folders if STEP_FOLDER.fullmatch(folder.name)}
    return dict(sorted(saved.items()))


def base_model(attempts: Sequence[Path], training: RunConfig | None, field: str) -> str:
    """Return the name or path of a training's base model on this machine.

    Raise ConfigError, with the path `field` of the config that may name another, if its name is unknown or means
    nothing here. The run's data files are not looked up: neither evaluations nor probes need them.
    """
    if training is None:
        reason = f"is needed, because {attempts[-1]} has no run.json that names the run's base model"
        raise ConfigError([Problem(field, reason)])
    try:
        return locate(replace(training, task=TaskConfig())).model.path
    except ConfigError as error:
        reasons = "; ".join(problem.message for problem in error.problems)
        reason = f"is needed, because the base model of the run cannot be used here: its name {reasons}"
        raise ConfigError([Problem(field, reason)]) from error
