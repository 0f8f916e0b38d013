"""Find the weights that a probe examines; weights of ES steps without a checkpoint are rebuilt in a scratch folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from workers import models
from workers.checkpoint_folders import ATTEMPT, hold
from workers.config import ConfigError, Problem, RunConfig
from workers.config.probe import ProbeConfig
from workers.engines.es.rebuild import Device, rebuild
from workers.engines.es.replay_checkpoints import nearest
from workers.engines.es.replay_history import CannotReplay, Trail, attempts_of, history_of
from workers.engines.es.replay_log import FILE
from workers.models.save import weights_sha256
from workers.probes.trainings import base_model, saved_checkpoints, step_in_name, training_config
from workers.probes.weights.files import WeightsDiffer, open_pair
from workers.probes.weights.subject import Subject

RUNS = "probe.runs"
WITH_STEP = re.compile(r"(.+)@(\d{1,9})")
Report = Callable[[str, float | None], None]


def open_subjects(
    config: RunConfig, settings: ProbeConfig, steps: Sequence[int | None], scratch: Path, report: Report
) -> list[Subject]:
    """Return the subjects in the order of the config. `steps`: the step of each run, if an earlier start fixed them.

    Raise ConfigError if a run, a step or a base model does not exist here, or if the weights have different shapes.
    """
    base = models.resolve(settings.base, report) if settings.base else None
    if not settings.runs:
        tuned = models.resolve(config.model.path, report)
        subjects = [Subject(_name_of(tuned), step_in_name(tuned), tuned, base)]
    else:
        fixed = steps or [None for _ in settings.runs]
        named = zip(settings.runs, fixed, strict=True)
        subjects = [_open(run, step, base, scratch, config.model.device, report) for run, step in named]
        if len({str(subject) for subject in subjects}) < len(subjects):
            raise ConfigError([Problem(RUNS, "names the same step of a run twice, or two folders of one name")])
    _check_shapes(subjects)
    return subjects


def _name_of(tuned: Path) -> str:
    """Return the name of a model's folder, or of the run if it is a checkpoint of one."""
    if not step_in_name(tuned):
        return tuned.name
    attempt = tuned.parents[1]
    return attempt.parent.name if ATTEMPT.fullmatch(attempt.name) else attempt.name


def _open(name: str, step: int | None, base: Path | None, scratch: Path, device: Device, report: Report) -> Subject:
    match = WITH_STEP.fullmatch(name)
    root = Path(match[1] if match else name)
    step = int(match[2]) if match else step
    try:
        attempts = attempts_of(root)
        if any((attempt / FILE).exists() for attempt in attempts):
            return _replayed(root, attempts, step, base, scratch, device, report)
    except CannotReplay as error:
        raise ConfigError([Problem(RUNS, f"{root.name}: {error}")]) from error
    return _saved(root, attempts, step, base, report)


def _replayed(
    root: Path,
    attempts: Sequence[Path],
    step: int | None,
    base: Path | None,
    scratch: Path,
    device: Device,
    report: Report,
) -> Subject:
    """Return a step of an ES run: its checkpoint, or else the weights that its replay log leads to."""
    history = history_of(attempts)
    if not history.steps:
        raise CannotReplay("the run has made no step yet")
    trail = history.trail(max(history.steps) if step is None else step)
    if not trail.written:
        raise CannotReplay("step 0 is the base model; name a later step")
    last = trail.written[-1].update.step
    checkpoint = nearest(attempts, trail)
    if checkpoint and checkpoint[1] == len(trail.written):
        tuned = checkpoint[0]
    elif not (tuned := scratch / f"{root.name}@{last}").exists():
        scratch.mkdir(exist_ok=True)
        report(f"rebuilding step {last} of {root.name}", None)
        rebuild(root, last, tuned, base=_same_base(trail, base), device=device)
    config = training_config(attempts, RUNS)
    saved = {step: folder for step, folder in saved_checkpoints(attempts).items() if step <= last}
    return Subject(root.name, last, tuned, base or trail.base_path, "es", attempts, config, saved, trail)


def _same_base(trail: Trail, base: Path | None) -> Path | None:
    """Return the folder that the run's base model was moved to, if `base` is it."""
    if base is None:
        return None
    return base if weights_sha256(base) == trail.origin.base_sha256 else None


def _saved(root: Path, attempts: Sequence[Path], step: int | None, base: Path | None, report: Report) -> Subject:
    """Return a saved checkpoint of a run without a replay log, such as GRPO."""
    config = training_config(attempts, RUNS)
    saved = saved_checkpoints(attempts)
    if not saved:
        raise ConfigError([Problem(RUNS, f"{root.name} has saved no checkpoint, and only ES runs can be rebuilt")])
    step = max(saved) if step is None else step
    if step in saved:
        hold(saved[step])
    else:
        choices = ", ".join(map(str, saved))
        raise ConfigError([Problem(RUNS, f"{root.name} has no checkpoint of step {step}; it has {choices}")])
    base = base or models.resolve(base_model(attempts, config, "probe.base"), report)
    earlier = {number: folder for number, folder in saved.items() if number <= step}
    method = config.method if config else ""
    return Subject(root.name, step, saved[step], base, method, attempts, config, earlier)


def _check_shapes(subjects: Sequence[Subject]) -> None:
    """Raise ConfigError if the weights of two subjects, or of one and its base model, cannot be compared."""
    pairs = [(s.base, s.tuned) for s in subjects if s.base] + [(a.tuned, b.tuned) for a, b in pairwise(subjects)]
    for first, second in pairs:
        try:
            with open_pair(first, second):
                pass
        except WeightsDiffer as error:
            raise ConfigError([Problem(RUNS if len(subjects) > 1 else "probe.base", str(error))]) from error
