"""Starts a process for each logger that the config switches on, and reports by alerts what a logger did not receive."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workers.client.metric_copies.cursor import remaining_metrics
from workers.client.metric_copies.loggers import WANDB, Logger, enabled_loggers, is_key_exposed, logger_python
from workers.config import RunConfig
from workers.config.fields import ResourceKind
from workers.config.resources import resources
from workers.records import Alert, RecordWriter, SilentWriter

PATIENCE_SECONDS = 15.0
"""Seconds for which the end of a run waits for all loggers together."""
REPORT_SECONDS = 5.0
"""Seconds in which the report of a process that has ended is read."""
PRIVATE_KINDS: tuple[ResourceKind, ...] = ("by_hand", "scorer", "scorer_secret", "adapter_server", "code")
"""Kinds of settings that no logger receives: addresses, secrets' names, and paths of this machine."""
ATTEMPT_NAME = re.compile(r"esweb-([0-9a-z]{10})-a\d+", re.ASCII)
WANDB_VARIABLES = ("WANDB_API_KEY", "WANDB_BASE_URL", "WANDB_IDENTITY_TOKEN_FILE", "WANDB_CREDENTIALS_FILE")
"""Variables of the library that stay: its login and its server. Others would change which data it sends, and where."""
PROJECT = Path(__file__).parents[3]


@contextlib.contextmanager
def copy_metrics(
    config: RunConfig, records: RecordWriter, resume: Path | None, patience: float = PATIENCE_SECONDS
) -> Iterator[None]:
    """Copy the metrics to the enabled loggers while the block runs, and the rest within `patience` seconds after it.

    Of several processes of a training, only the one that records copies. `resume` is the checkpoint that the command
    names, if any. Raise ConfigError if a logger's package is missing.
    """
    if isinstance(records, SilentWriter):
        yield
        return
    loggers = enabled_loggers(config.tracking)
    step = _resume_step(records.directory, resume)
    processes = [CopyProcess(logger, config, records, step) for logger in loggers]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        deadline = time.monotonic() + patience
        for process in processes:
            process.end_input()
        for process in processes:
            process.finish(deadline)


class CopyProcess:
    """The process of one logger, and the thread that waits for its report. Its errors never reach the training."""

    def __init__(self, logger: Logger, config: RunConfig, records: RecordWriter, step: int | None) -> None:
        self.logger, self.config, self.records, self.step = logger, config, records, step
        self.folder = records.directory.resolve() / logger.package
        self.process: subprocess.Popen[bytes] | None = None
        self.thread: threading.Thread | None = None
        self.has_failed = False

    def start(self) -> None:
        """Start the process; report by an alert if it cannot be started."""
        try:
            self.folder.mkdir(exist_ok=True)
            request = _request(self.logger, self.config, self.records, self.step)
            if request["key_file"] and is_key_exposed(Path(request["key_file"])):
                file = request["key_file"]
                self._alert(f"other users of this machine can read the key in {file}: run chmod 600 {file}")
            self.process = subprocess.Popen(
                [logger_python(), "-P", "-m", "workers.client.metric_copies"],
                cwd=self.folder, env=_environment(self.records.directory.resolve() / "wandb"),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            )  # fmt: skip
            self._input().write(json.dumps(request).encode() + b"\n")
            self._input().flush()
        except OSError as error:
            self._report_failure(f"{type(error).__name__}: {error}")
        else:
            self.thread = threading.Thread(target=self._wait_for_report, name=f"copy to {self.logger.package}")
            self.thread.daemon = True
            self.thread.start()

    def _input(self) -> Any:
        return self.process.stdin if self.process else None

    def _wait_for_report(self) -> None:
        assert self.process is not None and self.process.stdout is not None  # noqa: S101 set by start
        with self.process.stdout as stream:
            output = stream.read().decode(errors="replace").strip()
        code = self.process.wait()
        if output:
            self._report_failure(json.loads(output.splitlines()[-1])["reason"])
        elif code > 0:
            self._report_failure(f"its process ended with code {code}; the run's log has the reason")
        elif code < 0:
            self._report_failure(f"its process was ended by signal {-code}")

    def end_input(self) -> None:
        """Tell the process that the run has written all its records."""
        if self.process is not None:
            with contextlib.suppress(OSError):
                # A line, because a process that the training has forked may hold the pipe open.
                self._input().write(b"end\n")
                self._input().close()

    def finish(self, deadline: float) -> None:
        """Wait for the process until the deadline, end it then, and report the metrics that are not copied."""
        if self.process is not None:
            try:
                self.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                self._report_failure("it did not take the rest in time at the end of the run")
                self.process.kill()
        if self.thread is not None:
            self.thread.join(REPORT_SECONDS)
        try:
            count = remaining_metrics(self.records.directory, self.folder, self.records.epoch)
        except (OSError, ValueError) as error:
            _log(f"the metrics that {self.logger.name} lacks could not be counted: {error}")
            return
        if count:
            lacking = "1 metric record is" if count == 1 else f"{count} metric records are"
            self._alert(f"{lacking} not in {self.logger.name}; the next start of this attempt copies what is missing")

    def _report_failure(self, reason: str) -> None:
        if not self.has_failed:
            self.has_failed = True
            self._alert(f"metrics are no longer copied to {self.logger.name}, the run continues: {reason}")

    def _alert(self, message: str) -> None:
        try:
            self.records.write(Alert("warning", message))
        except OSError as error:
            _log(f"{message} (this could not be recorded: {error.strerror})")


def _request(logger: Logger, config: RunConfig, records: RecordWriter, step: int | None) -> dict[str, Any]:
    """Return what the process of a logger needs to know; `step` is that of the checkpoint to resume from."""
    directory, tracking = records.directory.resolve(), config.tracking
    run_id = _wandb_id(directory) if logger is WANDB else ""
    purge_step = None if records.epoch == 0 and step is None else 0 if step is None else step + 1
    return {
        "logger": logger.package,
        "directory": str(directory),
        "epoch": records.epoch,
        "purge_step": purge_step,
        "least_step": step or 0,
        "config": shared_config(config),
        "project": tracking.wandb_project,
        "entity": tracking.wandb_entity,
        "mode": tracking.wandb_mode,
        "key_file": str(Path(tracking.wandb_key_file).resolve()) if logger is WANDB and tracking.wandb_key_file else "",
        "run_id": run_id,
        "name": run_id if ATTEMPT_NAME.fullmatch(directory.name) else directory.name,
    }


def shared_config(config: RunConfig) -> dict[str, Any]:
    """Return the config as JSON data without the section `tracking` and without settings of private kinds."""
    data = config.to_json()
    for resource in resources(config):
        if resource.kind in PRIVATE_KINDS:
            *sections, name = resource.path.split(".")
            section: Any = data
            for part in sections:
                section = section[int(part) if part.isdigit() else part]
            section.pop(name, None)
    del data["tracking"]
    return data


def _wandb_id(directory: Path) -> str:
    """Return the id at Weights & Biases: the uid of a site's run, else a random one, stored in the directory."""
    if attempt := ATTEMPT_NAME.fullmatch(directory.name):
        return attempt[1]
    file = directory / WANDB.package / "run-id"
    with contextlib.suppress(FileNotFoundError):
        return file.read_text(encoding="utf-8").strip()
    file.parent.mkdir(exist_ok=True)
    file.write_text(secrets.token_hex(8), encoding="utf-8")
    return file.read_text(encoding="utf-8")


def _resume_step(directory: Path, resume: Path | None) -> int | None:
    """Return the step of the checkpoint from which the run will resume; None if there is none."""
    folders = directory.glob("checkpoints/step-*") if resume is None else [resume]
    numbers = [folder.name.removeprefix("step-") for folder in folders]
    return max((int(number) for number in numbers if number.isdecimal()), default=None)


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment of a logger's process. The library's caches are in `folder`; it reports no errors to its
    makers."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith("WANDB_") or k in WANDB_VARIABLES}
    paths = [str(PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return variables | {
        "PYTHONPATH": os.pathsep.join(paths),
        "WANDB_ERROR_REPORTING": "false",
        "WANDB_DATA_DIR": str(folder / "data"),
        "WANDB_CACHE_DIR": str(folder / "cache"),
    }


def _log(message: str) -> None:
    # The log may be on a disk that is full.
    with contextlib.suppress(OSError):
        print(f"metric copies: {message}", file=sys.stderr, flush=True)
