"""Program of one logger, `python -m workers.client.metric_copies`: copies metrics until its standard input ends.

Its first line of input is the request of `copy_process.py`. Its output is one line of JSON with the reason if the
logger fails, and nothing otherwise.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from workers.bearer import read_token, redacted
from workers.client.metric_copies.cursor import Cursor
from workers.client.metric_copies.event_files import EventFile
from workers.client.metric_copies.wandb_run import WandbRun

EVERY_SECONDS = 1.0
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1)
"""Signals that a scheduler or a terminal sends to all processes of a job. The run ends this process by its input."""


def main() -> int:
    """Copy as the request says. Return 0, or 1 after the reason of a failure was reported."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    request = json.loads(sys.stdin.readline())
    # What the libraries print is part of the run's log, not of the report.
    report = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    key = ""
    try:
        key = read_token(request["key_file"]) if request["key_file"] else ""
        (_copy_to_tensorboard if request["logger"] == "tensorboard" else _copy_to_wandb)(request, key)
    except Exception as error:
        reason = redacted(f"{type(error).__name__}: {error}", key)
        print(json.dumps({"reason": reason}), file=report, flush=True)
        return 1
    return 0


def _copy_to_tensorboard(request: Mapping[str, Any], _: str) -> None:
    folder = Path(request["directory"]) / "tensorboard"
    file = EventFile(folder, request["config"])
    _follow(
        request,
        folder,
        restart=lambda: file.restart(request["purge_step"]) if request["purge_step"] is not None else None,
        write=lambda lines, least_step, _: file.write(lines, least_step),
    )
    file.close()


def _copy_to_wandb(request: Mapping[str, Any], key: str) -> None:
    run = WandbRun(request, key)
    _follow(request, Path(request["directory"]) / "wandb", restart=lambda: None, write=run.write)
    run.close()


def _follow(
    request: Mapping[str, Any],
    folder: Path,
    restart: Callable[[], None],
    write: Callable[[list[Any], int, int], None],
) -> None:
    """Write what earlier epochs left over, then the metrics of this one until the input ends and nothing is left.

    `restart` is called before the metrics of this epoch.
    """
    directory, last_epoch = Path(request["directory"]), request["epoch"]
    cursor = Cursor.load(folder)
    has_restarted, is_last_look = False, False
    while True:
        row = cursor.count
        if cursor.epoch == last_epoch and not has_restarted:
            restart()
            has_restarted = True
        lines = cursor.next_metrics(directory, last_epoch)
        if lines:
            write(lines, request["least_step"] if has_restarted else 0, row)
        if lines is not None:
            cursor.save(folder)
        elif is_last_look:
            return
        else:
            # The input was over before the last look at the file, so that the look sees all records.
            is_last_look = bool(select.select([sys.stdin], [], [], EVERY_SECONDS)[0])


if __name__ == "__main__":
    sys.exit(main())
