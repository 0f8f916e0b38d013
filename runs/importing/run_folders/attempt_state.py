"""State of an imported attempt: by the site's own rule from its exit record, otherwise from the end of its records."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone

from runs.importing.files import File
from runs.importing.run_folders.own_files import MAX_TIME
from runs.importing.run_folders.record_files import RecordPiece
from runs.launching.reconcile import Ending, LastWords, decide_by_record, explain_end
from runs.models import Attempt
from workers.config import RunConfig
from workers.executors.diagnosis import TAIL_BYTES, explain_message
from workers.executors.states import State
from workers.records import Attack, Engines, Metric, Population, Probe, Record, Status

DONE, FAILED = "done", "failed"
"""Phases of the last status of a trainer, which writes one of them at its end unless it is stopped."""
MAX_MESSAGE_LENGTH = 300
KEY_PREFIXES = {"es/": "es", "train/learning_rate": "grpo"}
"""Beginnings of metric keys that one method alone writes."""


@dataclass
class RecordsEnd:
    """Method and end of an attempt as its records show them, collected piece by piece."""

    count: int = 0
    last_step: int = 0
    first_time: float | None = None
    last_time: float | None = None
    status: Status | None = None
    failure: str = ""
    file_name: str = ""
    is_last_a_status: bool = False
    method: str = ""
    """The method that the records tell, by the first record that tells one."""

    def add(self, piece: RecordPiece, file_name: str) -> None:
        """Add the lines of the next piece."""
        self.file_name = file_name
        for line in piece.lines:
            self.count += 1
            if 0 <= line.t < MAX_TIME:
                self.first_time = line.t if self.first_time is None else min(self.first_time, line.t)
                self.last_time = line.t if self.last_time is None else max(self.last_time, line.t)
            self._add_record(line.record)

    def _add_record(self, record: Record) -> None:
        self.is_last_a_status = isinstance(record, Status)
        if isinstance(record, Status):
            self.status = record
            self.failure = record.message if record.phase == FAILED else self.failure
        elif isinstance(record, Metric | Population):
            self.last_step = max(self.last_step, record.step)
        self.method = self.method or _method_of(record)

    @property
    def phase(self) -> str:
        return self.status.phase if self.status is not None else ""


@dataclass(frozen=True)
class EndOfAttempt:
    """The state of an attempt, its reason, and the other fields of its row that follow from its end."""

    state: State
    reason: str
    fields: dict[str, Any]


def end_of_attempt(
    attempt: Attempt, ending: Ending | None, records: RecordsEnd, config: RunConfig | None, log: File | None
) -> EndOfAttempt:
    """Return how an attempt ended. Raise OSError if its log is needed and cannot be read."""
    if ending is None:
        state, reason = _state_by_records(records, config)
        times = {"started_at": _to_datetime(records.first_time), "ended_at": _to_datetime(records.last_time)}
        return EndOfAttempt(state, reason, times)
    decision = decide_by_record(attempt, ending, timezone.now())
    reason = explain_end(decision, _last_words(attempt, records, log))
    return EndOfAttempt(decision.state, reason, decision.updates)


def missing_end(ending: Ending | None, records: RecordsEnd) -> str:
    """Return what the records lack at their end if the program was done; an empty text if nothing."""
    if ending is None or ending.code != 0 or (records.is_last_a_status and records.phase == DONE):
        return ""
    return "the program was done, but its last record is not here: records are missing at the end"


def _last_words(attempt: Attempt, records: RecordsEnd, log: File | None) -> Callable[[], LastWords]:
    return lambda: LastWords(attempt.key, records.failure, [] if log is None else _tail(log))


def _tail(file: File) -> list[str]:
    with file.open() as opened:
        opened.seek(max(0, file.size - TAIL_BYTES))
        return opened.read(TAIL_BYTES).decode(errors="replace").replace("\x00", "").splitlines()


def _state_by_records(records: RecordsEnd, config: RunConfig | None) -> tuple[State, str]:
    """Return the state of an attempt without exit record, and the reason."""
    if not records.count:
        return State.UNKNOWN, "there is no record, and no exit record"
    message = records.status.message[:MAX_MESSAGE_LENGTH] if records.status is not None else ""
    if records.phase == DONE and records.is_last_a_status:
        return State.SUCCEEDED, "done"
    if records.phase == FAILED and records.is_last_a_status:
        return State.FAILED, explain_message(message or "its last status is failed, without a message")
    phase = f"the status {records.phase}" + (f" ({message})" if message else "") if records.phase else "no status"
    of_steps = f" of {config.steps}" if config is not None and config.steps else ""
    last = f"the last step is {records.last_step}{of_steps}"
    return State.UNKNOWN, f"{records.file_name} ends with {phase}: {last}, and there is no exit record"


def _method_of(record: Record) -> str:
    if isinstance(record, Engines):
        return "es"
    if isinstance(record, Probe):
        return "probe"
    if isinstance(record, Attack):
        return "audit"
    if isinstance(record, Metric):
        return next((method for key in record.values for prefix, method in KEY_PREFIXES.items()
                     if key.startswith(prefix)), "")  # fmt: skip
    return ""


def _to_datetime(seconds: float | None) -> datetime | None:
    return None if seconds is None or not math.isfinite(seconds) else datetime.fromtimestamp(seconds, UTC)
