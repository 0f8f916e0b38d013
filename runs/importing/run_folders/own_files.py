"""Read the config, the exit record and the arguments of an attempt. Each file may be anybody's: its size, its depth and
its types are checked, and what cannot be used is reported."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from signal import Signals
from typing import Any

from runs.importing.files import File
from runs.importing.records import UNKNOWN_METHOD, UNKNOWN_SEED, ImportReport
from runs.importing.run_folders.attempt_folder import AttemptFolder
from runs.ingest.storable import storable
from runs.launching.reconcile import Ending
from runs.models.attempt_files import ATTEMPT_NAME, SITE_FACTS, SPEC, STEP_NAME
from workers.attempt import EXIT_RECORD, RUN_CONFIG
from workers.config import ConfigError, RunConfig
from workers.config.shallow_json import loads

MAX_BYTES = 1024 * 1024
MAX_PROBLEMS = 3
METHOD_NAME = re.compile(r"[a-z][a-z0-9_-]{0,19}", re.ASCII)
SHA256 = re.compile("[0-9a-f]{64}", re.ASCII)
ENDING_KEYS = ("code", "signal", "timed_out", "stopped", "started_at", "ended_at")
MAX_TIME = 32_503_680_000.0
"""The year 3000."""
MAX_DIGITS = 300
"""Digits of a whole number that a config may have; the database's JSON takes more, and no reader of it does."""


@dataclass(frozen=True)
class OwnConfig:
    """A run.json: its JSON as it can be stored, and the config if it is valid in this version. `problem`: why it is
    not, or why there is none."""

    data: dict[str, Any] = field(default_factory=dict)
    config: RunConfig | None = None
    problem: str = ""

    @property
    def method(self) -> str:
        """Return the stated method, also one that this version does not have; empty if there is none."""
        name = self.data.get("method")
        return name if isinstance(name, str) and METHOD_NAME.fullmatch(name) else ""

    @property
    def seed(self) -> int:
        """Return the stated seed; of a valid config without one, the default; UNKNOWN_SEED otherwise."""
        if self.config is not None:
            return self.config.seed
        seed = self.data.get("seed")
        return seed if isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < 2**63 else UNKNOWN_SEED


@dataclass(frozen=True)
class Arguments:
    """Arguments of an attempt in spec.json: the code that it was to run, and the attempt and step that it resumed
    from. The environment there is not read: it may hold secrets."""

    code_sha256: str = ""
    resumed_attempt: int | None = None
    resumed_step: int | None = None


def read_config(attempt: AttemptFolder, report: ImportReport) -> OwnConfig:
    """Return the config of an attempt. Raise OSError."""
    data, problem = _read_object(attempt.files.get(RUN_CONFIG))
    if problem:
        _report(report, attempt, RUN_CONFIG, f"{problem}: the config is unknown")
        return OwnConfig(problem=problem)
    changed: list[str] = []
    stored = _storable(data, "", changed)
    for path in changed[:MAX_PROBLEMS]:
        _report(report, attempt, RUN_CONFIG, f"{path or 'it'} cannot be stored as it is, and was changed")
    try:
        return OwnConfig(stored, RunConfig.from_json(data))
    except ConfigError as error:
        problems = "; ".join(map(str, error.problems[:MAX_PROBLEMS]))
        more = f"; and {len(error.problems) - MAX_PROBLEMS} more" if len(error.problems) > MAX_PROBLEMS else ""
        reason = f"is kept, but it is not valid in this version: {problems}{more}"[:1000]
        _report(report, attempt, RUN_CONFIG, storable(reason))
        return OwnConfig(stored, problem=reason)


def read_ending(attempt: AttemptFolder, report: ImportReport) -> Ending | None:
    """Return the exit record of an attempt; None if it has none that can be used. Raise OSError."""
    if EXIT_RECORD not in attempt.files:
        return None
    data, problem = _read_object(attempt.files[EXIT_RECORD])
    problem = problem or _ending_problem(data)
    if problem:
        _report(report, attempt, EXIT_RECORD, f"{problem}: how the program ended follows from its records")
        return None
    return Ending.from_json(data)


def read_arguments(attempt: AttemptFolder, uid: str, report: ImportReport) -> Arguments:
    """Return the arguments of an attempt of the run with this uid. Raise OSError."""
    if SPEC not in attempt.files:
        return Arguments()
    data, problem = _read_object(attempt.files[SPEC])
    argv = data.get("argv")
    if problem or not isinstance(argv, list) or not all(isinstance(argument, str) for argument in argv):
        _report(report, attempt, SPEC, f"{problem or 'argv is not a list of texts'}: its arguments are unknown")
        return Arguments()
    stated = dict(pairwise(argv))
    code = stated.get("--code", "") if SHA256.fullmatch(stated.get("--code", "")) else ""
    parts = ["", "", *stated.get("--resume", "").rstrip("/").split("/")]
    name, step = parts[-3], parts[-1]
    resumed, saved = ATTEMPT_NAME.fullmatch(name), STEP_NAME.fullmatch(step)
    if resumed is None or saved is None or resumed[1] != uid or int(resumed[2]) >= attempt.n:
        return Arguments(code)
    return Arguments(code, int(resumed[2]), int(saved[1]))


def details_digest(attempt: AttemptFolder) -> str:
    """Return a digest of the small files that decide the config and the end of an attempt. Raise OSError."""
    digest = hashlib.sha256()
    for name in (RUN_CONFIG, EXIT_RECORD, SPEC, SITE_FACTS):
        file = attempt.files.get(name)
        digest.update(f"{name} {-1 if file is None else file.size}\n".encode())
        digest.update(b"" if file is None else file.head(MAX_BYTES))
    return digest.hexdigest()


def stated_method(own: OwnConfig, method_of_records: str) -> str:
    """Return the method of a run: that of its config, else that of its records."""
    return own.method or method_of_records or UNKNOWN_METHOD


def _read_object(file: File | None) -> tuple[dict[str, Any], str]:
    """Return (the JSON object in a file, why it cannot be used)."""
    if file is None:
        return {}, "is missing"
    if file.size > MAX_BYTES:
        return {}, f"has {file.size} bytes; at most {MAX_BYTES} are read"
    if not file.size:
        return {}, "is empty"
    try:
        data = loads(file.head(MAX_BYTES))
    except ValueError as error:
        return {}, f"is not JSON ({error})"[:300]
    return (data, "") if isinstance(data, dict) else ({}, "is not a JSON object")


def _ending_problem(data: Mapping[str, Any]) -> str:
    """Return why an exit record cannot be used; an empty text if it can."""
    if missing := [name for name in ENDING_KEYS if name not in data]:
        return f"it lacks {', '.join(missing)}"
    code, number, kills = data.get("code"), data.get("signal"), data.get("oom_kills")
    if not all(value is None or _is_whole(value) for value in (code, number, kills)):
        return "code, signal and oom_kills must be whole numbers"
    if (code is None and number is None) or not all(type(data.get(name)) is bool for name in ("timed_out", "stopped")):
        return "code or signal must be a number, and timed_out and stopped true or false"
    if number is not None and number not in set(Signals):
        return f"there is no signal {number}"
    times = (data.get("started_at"), data.get("ended_at"))
    if not all(isinstance(time, int | float) and 0 <= time < MAX_TIME for time in times):
        return "started_at and ended_at must be times in Unix seconds"
    return ""


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**31


def _storable(value: Any, path: str, changed: list[str]) -> Any:
    """Return JSON that the database can store, and add the paths of what had to change."""
    if isinstance(value, dict):
        return {_text(name, path, changed): _storable(item, f"{path}.{name}".lstrip("."), changed)
                for name, item in value.items()}  # fmt: skip
    if isinstance(value, list):
        return [_storable(item, path, changed) for item in value]
    if isinstance(value, str):
        return _text(value, path, changed)
    is_beyond = isinstance(value, float) and not math.isfinite(value)
    if is_beyond or (isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 3 * MAX_DIGITS):
        changed.append(storable(path))
        return str(value)[:MAX_DIGITS]
    return value


def _text(value: str, path: str, changed: list[str]) -> str:
    text = storable(value)
    if text != value:
        changed.append(storable(path))
    return text


def _report(report: ImportReport, attempt: AttemptFolder, name: str, reason: str) -> None:
    report.add_remark(attempt.path_of(name), reason)
