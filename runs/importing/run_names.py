"""Name an imported run by its method, its distinguishing hyperparameters and its seed; find the path of its job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from runs.importing.readers.event_files import KIND as EVENT_FILES
from runs.importing.readers.scored_responses import KIND as SCORED_ANSWERS
from runs.importing.readers.scored_responses import NAMED
from runs.importing.readers.trainer_state import KIND as TRAINER_STATE
from runs.importing.records import UNKNOWN_SEED, ImportedRun

LONGEST, SETTING_AT_MOST = 200, 100
SHOWN = {"alpha": "α", "sigma": "σ", "beta": "β", "learning_rate": "lr "}
TELLING = {"es": ("alpha", "sigma"), "grpo": ("beta",)}
CHECKPOINT = re.compile(r"(?:^|/)checkpoint-\d+$")
SEVERAL_FILES = re.compile(r" \(\d+ files\)$")


def name_of(found: ImportedRun, config: Mapping[str, Any], file: str) -> str:
    """`es α0.0005 σ0.001 seed 0`; the file's own name where it says none of these."""
    if found.name:
        return found.name[:LONGEST]
    shown = file if len(file) < LONGEST // 2 else f"…{file[-LONGEST // 2 :]}"
    seed = [f"seed {found.seed}"] if found.seed != UNKNOWN_SEED else []
    method = [found.method] if found.method in TELLING else []
    return (" ".join([*method, _told(found, config) or shown, *seed]) + found.suffix)[:LONGEST]


def setting_of(found: ImportedRun, config: Mapping[str, Any]) -> str:
    """`α0.0005 σ0.001`: what seeds have in common, as tables and charts call them; empty where nothing is told."""
    told = found.name or _told(found, config)
    return f"{told}{found.suffix}"[:SETTING_AT_MOST] if told else ""


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


def is_same_path(one: str, other: str) -> bool:
    """Return whether two paths end alike, as far as the shorter one tells: `job1/run.log` and `a/job1/run.log`.

    An empty path tells nothing, and is the same as another empty one alone.
    """
    return all(a == b for a, b in zip(reversed(one.split("/")), reversed(other.split("/")), strict=False))


def _told(found: ImportedRun, config: Mapping[str, Any]) -> str:
    knobs = config.get(found.method)
    values = knobs if isinstance(knobs, Mapping) else {}
    return " ".join(f"{SHOWN[name]}{values[name]:g}" for name in TELLING.get(found.method, ()) if name in values)
