"""Logs as programs print them, and what is read from them."""

from __future__ import annotations

import io
from dataclasses import dataclass

from runs.importing.readers.log import Log
from runs.importing.records import Entry, ImportedRun, ImportReport
from workers.records import Metric, Response

HEADER = """\
[Training Config]
  algorithm: Evolution Strategies
  sigma (noise scale): 0.001
  alpha (learning rate): 0.0005
  population_size: 30
  max_steps: 4
  max_completion_length: 128
  seed: {seed}

[Dataset]
  train_size: 2

"""
ENDED = "Training completed in 12.50s (0.21 minutes)\n"


def iteration(i: int, total: int = 4, mean: str = "-10.50", more: str = "") -> str:
    """Return a line of ES."""
    return f"Iteration {i}/{total}, Time: 2.50s, Mean: {mean}, Min: -20.00, Max: -1.25, Std: 3.75{more}\n"


@dataclass
class Read:
    """The result of reading a log."""

    entries: list[Entry]
    report: ImportReport

    @property
    def runs(self) -> list[ImportedRun]:
        return list({entry.run.part: entry.run for entry in self.entries}.values())

    @property
    def answers(self) -> list[Response]:
        return [entry.record for entry in self.entries if isinstance(entry.record, Response)]

    @property
    def remarks(self) -> list[str]:
        return [str(remark) for remark in self.report.remarks]

    @property
    def cells(self) -> list[str]:
        return [str(cell) for cell in self.report.refused_cells]

    def points(self, key: str, part: int = 0) -> list[tuple[int, int, float]]:
        """Return (epoch, step, value) of each point of a key."""
        return [
            (entry.epoch, entry.record.step, entry.record.values[key])
            for entry in self.entries
            if isinstance(entry.record, Metric) and key in entry.record.values and entry.run.part == part
        ]

    def values(self, key: str, part: int = 0) -> list[float]:
        return [value for _, _, value in self.points(key, part)]


def read(log: str | bytes, name: str = "some.log") -> Read:
    """Read a log."""
    report = ImportReport()
    raw = log if isinstance(log, bytes) else log.encode()
    return Read(list(Log(io.BytesIO(raw), name, report).entries()), report)
