"""Sends metrics to a run at Weights & Biases, or writes the library's offline files.

Each record is one row with its step as the value `step`, which is the axis of all charts: the library's own step only
counts rows, because it drops rows whose step is less than that of the last row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from workers.records import Line, Metric

AXES = "axes/"
INIT_SECONDS, FINISH_SECONDS = 60.0, 12.0
"""Patience with a server at the start, and with the rest of the upload at the end of a run."""


class WandbRun:
    """A run of the library `wandb` without all that it collects on its own. Raise its errors if it cannot start."""

    def __init__(self, request: Mapping[str, Any], key: str) -> None:
        wandb = import_module("wandb")
        self._is_offline = request["mode"] == "offline"
        settings = wandb.Settings(
            api_key=key or None, console="off", disable_code=True, save_code=False, disable_git=True,
            disable_job_creation=True, host="esweb", program="workers.train", silent=True, symlink=False,
            use_dot_wandb=False, init_timeout=INIT_SECONDS, finish_timeout=FINISH_SECONDS, finish_timeout_raises=True,
            stop_fn=_ignore_stop, x_disable_meta=True, x_disable_machine_info=True, x_disable_stats=True,
            x_save_requirements=False, x_transaction_log_flush_interval=1.0,
        )  # fmt: skip
        self._run = wandb.init(
            project=request["project"], entity=request["entity"] or None, mode=request["mode"], id=request["run_id"],
            name=request["name"], dir=request["directory"], config=dict(request["config"]), settings=settings,
            resume=None if self._is_offline else "allow",
        )  # fmt: skip
        self._run.define_metric("step")
        self._run.define_metric("*", step_metric="step")

    def write(self, lines: Sequence[Line], least_step: int, row: int) -> None:
        """Log the values and axes of metric records; a metric of an earlier step is logged at `least_step`.

        `row` is the number of rows before them, by which offline files of one attempt follow each other.
        """
        for number, line in enumerate(lines, row):
            if isinstance(line.record, Metric):
                axes = {AXES + name: value for name, value in line.record.axes.items()}
                step = max(line.record.step, least_step)
                values = {**line.record.values, **axes, "step": step, "_timestamp": line.t}
                self._run.log(values, step=number if self._is_offline else None)

    def close(self) -> None:
        """Wait until everything is sent. Raise TimeoutError if that takes longer than FINISH_SECONDS."""
        self._run.finish()


def _ignore_stop() -> None:
    """Do nothing: a click at Weights & Biases does not stop a run of this project."""
