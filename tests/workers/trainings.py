"""Trainings started as a scheduler would: a process, a config file, a directory; and what they wrote, read strictly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE_SECONDS
from tests.workers.attempts import ENV
from workers.config import preset
from workers.records import Checkpoint, Line, Metric, read, records_path

COMMAND = ("-m", "workers.train")
ENVIRONMENT = ENV | {key: os.environ[key] for key in ("ESWEB_CACHE", "HOME") if key in os.environ}


def run_json(folder: Path, name: str, **changes: dict[str, Any]) -> Path:
    """A preset's config as a file, with some knobs of some sections changed."""
    config = json.loads(json.dumps(preset(name).config))
    for section, values in changes.items():
        config[section].update(values)
    path = folder / "run.json"
    path.write_text(json.dumps(config))
    return path


def start(config: Path, out: Path, *more: str, program: tuple[str, ...] = COMMAND) -> subprocess.Popen[str]:
    """The command, begun in an empty folder of its own beside `out`."""
    folder = working_folder(out)
    folder.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, *program, str(config), "--out", str(out), *more],
        cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def train(config: Path, out: Path, *more: str, program: tuple[str, ...] = COMMAND) -> subprocess.CompletedProcess[str]:
    """The command, run to its end."""
    with start(config, out, *more, program=program) as process:
        try:
            output, errors = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def working_folder(out: Path) -> Path:
    """Where the command was run from."""
    return out.with_name(f"cwd-of-{out.name}")


def lines(out: Path, epoch: int = 0) -> list[Line]:
    """All that an epoch wrote. Every line must be a record, numbered without a gap."""
    piece = read(records_path(out, epoch), limit=1 << 30)
    assert not piece.broken
    assert [line.seq for line in piece.lines] == list(range(len(piece.lines)))
    return piece.lines


def records(out: Path, kind: type, epoch: int = 0) -> list[Any]:
    """The records of one kind."""
    return [line.record for line in lines(out, epoch) if isinstance(line.record, kind)]


def metrics(out: Path, key: str) -> list[Metric]:
    """The metric records that hold `key`."""
    return [metric for metric in records(out, Metric) if key in metric.values]


def weights(out: Path, epoch: int = 0) -> dict[int, str]:
    """sha256 of the weights by step, for each checkpoint recorded."""
    return {checkpoint.step: checkpoint.sha256 for checkpoint in records(out, Checkpoint, epoch)}
