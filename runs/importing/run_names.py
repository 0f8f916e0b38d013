"""Name an imported run by its method, its distinguishing hyperparameters and its seed; find the path of its job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from runs.importing.readers.event_files import KIND as EVENT_FILES
from runs.importing.readers.scored_responses import KIND as SCORED_ANSWERS
from runs.importing.readers.scored_responses import NAMED
from runs.importing.readers.tables import KIND as TABLE
from runs.importing.readers.trainer_state import KIND as TRAINER_STATE
from runs.importing.records import UNKNOWN_SEED, ImportedRun

MAX_NAME_LENGTH, MAX_SETTING_LENGTH = 200, 100
SYMBOLS = {"alpha": "α", "sigma": "σ", "beta": "β", "learning_rate": "lr "}
NAMED_SETTINGS = {"es": ("alpha", "sigma"), "grpo": ("beta",)}
CHECKPOINT = re.compile(r"(?:^|/)checkpoint-\d+$")
SEED_IN_NAME = re.compile(r"[ _/,-]?seed[ _=-]?\d{1,20}|[ _/-]s\d{1,20}(?![\w.])", re.IGNORECASE)
SEVERAL_FILES = re.compile(r" \(\d+ files\)$")


def name_of(run: ImportedRun, config: Mapping[str, Any], file: str) -> str:
    """Return a name such as `es α0.0005 σ0.001 seed 0`; it contains the file's name if no such setting is stated."""
    if run.name:
        return run.name[:MAX_NAME_LENGTH]
    short_file = file if len(file) < MAX_NAME_LENGTH // 2 else f"…{file[-MAX_NAME_LENGTH // 2 :]}"
    seed = [f"seed {run.seed}"] if run.seed != UNKNOWN_SEED else []
    method = [run.method] if run.method in NAMED_SETTINGS else []
    return (" ".join([*method, _describe_settings(run, config) or short_file, *seed]) + run.suffix)[:MAX_NAME_LENGTH]


def setting_of(run: ImportedRun, config: Mapping[str, Any]) -> str:
    """Return the settings that seeds share, such as `α0.0005 σ0.001`, for tables; empty if none is stated."""
    described = _describe_settings(run, config)
    # A table names its runs, often with their seeds.
    label = described or SEED_IN_NAME.sub("", run.name).strip() if run.kind == TABLE else run.name or described
    return f"{label}{run.suffix}"[:MAX_SETTING_LENGTH] if label else ""


def job_path(kind: str, name: str) -> str:
    """Return the path that the files of one job share: the folder of event files, that of a trainer's checkpoints, the
    path of scored answers up to their tag, and a file's own name for all other kinds."""
    name = SEVERAL_FILES.sub("", name)
    folder = name.rpartition("/")[0]
    if kind == EVENT_FILES:
        return folder
    if kind == TRAINER_STATE:
        return CHECKPOINT.sub("", folder)
    if kind == SCORED_ANSWERS and (match := NAMED.fullmatch(name)):
        return match[1]
    return name


def is_same_path(path: str, other_path: str) -> bool:
    """Return whether the shorter path is the end of the longer one: `job1/run.log` and `a/job1/run.log`.

    An empty path is the same as another empty path only.
    """
    return all(a == b for a, b in zip(reversed(path.split("/")), reversed(other_path.split("/")), strict=False))


def _describe_settings(run: ImportedRun, config: Mapping[str, Any]) -> str:
    section = config.get(run.method)
    values = section if isinstance(section, Mapping) else {}
    return " ".join(f"{SYMBOLS[name]}{values[name]:g}" for name in NAMED_SETTINGS.get(run.method, ()) if name in values)
