"""Writes metrics into TensorBoard's event files.

The package `tensorboard` writes them without torch and without TensorFlow; `torch.utils.tensorboard` would need both
packages for the same file. Its own RecordWriter is used without its thread, so that an error is raised where it occurs.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from workers.records import Line, Metric

AXES = "axes/"


class EventFile:
    """A new event file in `folder`. Each start of a run writes one; TensorBoard shows all of them as one run."""

    def __init__(self, folder: Path, config: Mapping[str, Any]) -> None:
        self._events = import_module("tensorboard.compat.proto.event_pb2")
        self._summaries = import_module("tensorboard.compat.proto.summary_pb2")
        name = f"events.out.tfevents.{time.time():017.6f}.{socket.gethostname()}.{os.getpid()}"
        writer = import_module("tensorboard.summary.writer.record_writer")
        self._writer = writer.RecordWriter((folder / name).open("xb"))
        self._write(self._events.Event(wall_time=time.time(), file_version="brain.Event:2"))
        text = import_module("tensorboard.plugins.text.summary_v2")
        # TensorBoard shows text as Markdown, in which indented lines are a block of code.
        lines = json.dumps(config, indent=2, ensure_ascii=False).splitlines()
        summary = text.text_pb("config", "\n".join(f"    {line}" for line in lines))
        self._write(self._events.Event(wall_time=time.time(), step=0, summary=summary))

    def restart(self, step: int) -> None:
        """Declare that the run continues with `step`: TensorBoard drops what earlier files have from there on."""
        log = self._events.SessionLog(status=self._events.SessionLog.START)
        self._write(self._events.Event(wall_time=time.time(), step=step, session_log=log))

    def write(self, lines: Sequence[Line], least_step: int) -> None:
        """Write the values and axes of metric records, with the times at which they were recorded. Raise OSError.

        A metric of an earlier step is written at `least_step`.
        """
        for line in lines:
            if isinstance(line.record, Metric):
                step = max(line.record.step, least_step)
                self._write(self._events.Event(wall_time=line.t, step=step, summary=self._summary(line.record)))
        self._writer.flush()

    def _summary(self, metric: Metric) -> Any:
        named = metric.values | {AXES + name: value for name, value in metric.axes.items()}
        value = self._summaries.Summary.Value
        return self._summaries.Summary(value=[value(tag=tag, simple_value=number) for tag, number in named.items()])

    def _write(self, event: Any) -> None:
        self._writer.write(event.SerializeToString())

    def close(self) -> None:
        """Flush and close the file."""
        self._writer.close()
