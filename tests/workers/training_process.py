"""Trainings started as by a scheduler: a process, a config file, a directory; and strict readers of their records."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE_SECONDS
from tests.workers.attempts import ENV
from tests.workers.forked import Fork
from workers.config import preset
from workers.records import Checkpoint, Line, Metric, read, records_path
from workers.train import main

COMMAND = ("-m", "workers.train")
ENVIRONMENT = ENV | {key: os.environ[key] for key in ("ESWEB_CACHE", "HOME") if key in os.environ}
# As in the tests' own process (conftest.py): several threads spend most of their time waiting for each other.
ENVIRONMENT["OMP_NUM_THREADS"] = "1"


def run_json(folder: Path, name: str, **changes: dict[str, Any]) -> Path:
    """Write a preset's config with changed settings of some sections; return the file's path."""
    config = json.loads(json.dumps(preset(name).config))
    for section, values in changes.items():
        config[section].update(values)
    path = folder / "run.json"
    path.write_text(json.dumps(config))
    return path


def start(
    config: Path, out: Path, *more: str, program: tuple[str, ...] = COMMAND, is_fork: bool = False
) -> subprocess.Popen[str]:
    """Start the command in an empty folder of its own next to `out`, from nothing or as a fork of this process."""
    folder = working_folder(out)
    folder.mkdir(exist_ok=True)
    return (Fork if is_fork else subprocess.Popen)(
        [sys.executable, *program, str(config), "--out", str(out), *more],
        cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def train(
    config: Path, out: Path, *more: str, program: tuple[str, ...] = COMMAND, is_fork: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    with start(config, out, *more, program=program, is_fork=is_fork) as process:
        try:
            output, errors = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def train_here(config: Path, out: Path, *more: str) -> tuple[int, str]:
    """Run the command in this process; return (exit code, stdout). Signal handlers are restored."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR1)}
    folder, output = working_folder(out), io.StringIO()
    folder.mkdir(exist_ok=True)
    try:
        with contextlib.chdir(folder), contextlib.redirect_stdout(output):
            code = main([str(config), "--out", str(out), *more])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code, output.getvalue()


def working_folder(out: Path) -> Path:
    """Return the working folder of the command."""
    return out.with_name(f"cwd-of-{out.name}")


def lines(out: Path, epoch: int = 0) -> list[Line]:
    """Return all lines of an epoch. Every line must be a record, numbered without a gap."""
    piece = read(records_path(out, epoch), limit=1 << 30)
    assert not piece.broken
    assert [line.seq for line in piece.lines] == list(range(len(piece.lines)))
    return piece.lines


def records(out: Path, kind: type, epoch: int = 0) -> list[Any]:
    """Return the records of one kind."""
    return [line.record for line in lines(out, epoch) if isinstance(line.record, kind)]


def metrics(out: Path, key: str) -> list[Metric]:
    """Return the metric records that hold `key`."""
    return [metric for metric in records(out, Metric) if key in metric.values]


def weights(out: Path, epoch: int = 0) -> dict[int, str]:
    """Return the sha256 of the weights by step, for each checkpoint recorded."""
    return {checkpoint.step: checkpoint.sha256 for checkpoint in records(out, Checkpoint, epoch)}
