"""The runs of a log: which one its next step belongs to, that of the same process, of a restart, or of another run.

A run that was started again goes back in its steps, and a new epoch begins. The settings printed in between decide: the
same settings mean the same run, and other ones, or a run that had finished, mean another run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from runs.importing import vocabulary
from runs.importing.readers import eggroll_vllm, es_at_scale, hyperscale_es
from runs.importing.readers.log_run import LogRun
from runs.importing.records import Entry, ImportedRun, ImportReport
from workers.records import Metric, Record

ES, TRL, JOB = "ES log", "TRL log", "log of a job that failed"
ES_KINDS = (ES, es_at_scale.KIND, eggroll_vllm.KIND, hyperscale_es.KIND)
MEASURED_BY_EACH_PROCESS = ("system/", "time/", "timing_s/", "perf/")
"""Beginnings of names of values of which each process of a training may print its own."""


class LogRuns:
    """The run whose lines are read, and the entries of its points."""

    def __init__(self, name_settings: dict[str, Any], report: ImportReport) -> None:
        self._name_settings, self._report = name_settings, report
        self._printed_settings: dict[str, Any] = {}
        """Settings of headings since the last point: those of the next run, if they differ from this one's."""
        self._last_values: dict[str, float] = {}
        self._last_place = (-1, -1, -1)
        self._has_repeats = False
        self.line = 0
        """Number of the line that is read."""
        self.started: float | None = None
        """Time of the first line with one, in Unix seconds."""
        self.current = self._new(0, {})

    def go_to_step(self, step: int, total: int, kind: str, *, goes_back: bool = True) -> Iterator[Entry]:
        """Go to a step: of the same process, of the run after a restart, or of another run."""
        run = self.current
        went_back = goes_back and bool(run.points) and step < run.step
        if run.points and (self._is_other_run(kind) or (went_back and run.is_finished)):
            yield from self.close()
            printed, self._printed_settings = self._printed_settings, {}
            run = self.current = self._new(run.run.part + 1, printed or run.run.settings)
        elif went_back:
            run.epoch += 1
            run.base = run.seconds
            self._printed_settings = {}
        run.run.kind = kind
        run.run.method = run.run.method or ("es" if kind in ES_KINDS else "")
        run.step, run.total = (max(step, run.step) if not goes_back else step), total or run.total
        run.failures.reset()

    def set_settings(self, settings: dict[str, Any], *, is_heading: bool) -> None:
        """Store settings. Settings of a heading take precedence over those in a name."""
        if self.current.points:
            self._printed_settings |= settings if is_heading else {}
        else:
            present = self.current.run.settings
            self.current.run.settings = present | settings if is_heading else {**settings, **present}

    def point(self, step: int, values: dict[str, float], axes: dict[str, float] | None = None) -> Entry:
        """Return the entry of numbers of a step."""
        run = self.current
        run.points += 1
        self._compare(step, values)
        return self.entry(Metric(step, {k: v for k, v in values.items() if vocabulary.is_usable(k)}, axes or {}))

    def entry(self, record: Record) -> Entry:
        """Return the entry of a record of the current run."""
        if self.current.run.started_at is None:
            self.current.run.started_at = self.started
        return Entry(self.current.run, record, self.current.seconds, self.current.epoch)

    def close(self) -> Iterator[Entry]:
        """End the run. Yield an entry without a record if there was a run."""
        if self.current.finish():
            yield Entry(self.current.run)

    def _new(self, part: int, settings: dict[str, Any]) -> LogRun:
        imported_run = ImportedRun(part, JOB, settings={**self._name_settings, **settings}, keeps_log=True)
        return LogRun(imported_run)

    def _is_other_run(self, kind: str) -> bool:
        """Return whether the lines printed since belong to another run: another method, or other settings."""
        present, new = self.current.run.settings, self._printed_settings
        differs = any(name in present and present[name] != value for name, value in new.items())
        return differs or self.current.run.kind not in (kind, JOB)

    def _compare(self, step: int, values: dict[str, float]) -> None:
        """Report the first line that states a step again with other numbers, as several processes in one file do."""
        place, known = (self.current.run.part, self.current.epoch, step), self._last_values
        measured = {name: value for name, value in values.items() if not name.startswith(MEASURED_BY_EACH_PROCESS)}
        if place != self._last_place:
            self._last_place, self._last_values = place, measured
            return
        differ = (name for name, value in measured.items() if known.get(name, value) != value and not math.isnan(value))
        name = next(differ, "")
        self._last_values = known | measured
        if name and not self._has_repeats:
            self._has_repeats = True
            reason = f"states step {step} again, with another {name}: both are saved; split a log of several runs"
            self._report.add_line_remark(self.line, reason)
