"""Progress of a run of method evaluate or probe: the steps that it has completed, which a restart omits, and waits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from workers.attempt import write_json
from workers.checkpoint_folders import ATTEMPT
from workers.config import ConfigError, Problem
from workers.engines.stop import Stop
from workers.records import BadLine, Metric, RecordWriter, Status, unpack

Wait = Callable[[float, str], None]
"""Wait so many seconds for another program, for a reason. Raise Interrupted on a stop."""


def completed_steps(directory: Path, name: str, identity: Any, key: str) -> set[int]:
    """Return the steps of metric records with `key` that this attempt and earlier ones of the run have written.

    An attempt counts if its file `name` has this identity: the settings that decide its numbers, as JSON data. The file
    of this attempt is written. Raise ConfigError if it exists with other settings.
    """
    # As JSON gives it back.
    identity = json.loads(json.dumps(identity))
    file = directory / name
    if file.exists() and json.loads(file.read_bytes()) != identity:
        method = file.stem
        reason = f"{directory} holds results of other settings; choose another folder with --out"
        raise ConfigError([Problem(method, reason)])
    write_json(file, identity)
    attempts = attempts_with(directory, name, identity)
    return {step for attempt in attempts for step in _recorded_steps(attempt, key)}


def attempts_with(directory: Path, name: str, identity: Any) -> Iterator[Path]:
    """Yield the directories of the run's attempts whose file `name` has this identity."""
    directory = directory.resolve()
    match = ATTEMPT.fullmatch(directory.name)
    siblings = (folder for folder in directory.parent.iterdir() if match and folder.is_dir())
    same_run = (f for f in siblings if match and (other := ATTEMPT.fullmatch(f.name)) and other[1] == match[1])
    for folder in [*same_run] or [directory]:
        file = folder / name
        if file.exists() and json.loads(file.read_bytes()) == identity:
            yield folder


def waiting(records: RecordWriter, stop: Stop) -> Wait:
    """Return a function with which a task waits for another program and records the reason."""

    def wait(seconds: float, reason: str) -> None:
        with stop.uninterruptible():
            records.write(Status("waiting", reason))
        stop.sleep(seconds)

    return wait


def _recorded_steps(attempt: Path, key: str) -> Iterator[int]:
    for file in attempt.glob("records.*.jsonl"):
        for line in file.read_bytes().splitlines():
            # Most lines are long: only what may be a complete step is parsed.
            if key.encode() not in line:
                continue
            try:
                record = unpack(line).record
            except BadLine:
                continue
            if isinstance(record, Metric) and key in record.values:
                yield record.step
