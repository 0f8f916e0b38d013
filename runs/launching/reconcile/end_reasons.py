"""Explain the end of a job by what its program left: its last failed status, its output, and that of its scheduler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from runs.launching.reconcile.attempt_files import JOB_LOG
from runs.launching.reconcile.rules import Decision
from workers import records
from workers.attempt import DISK_FULL, LOG_FILE
from workers.executors.diagnosis import explain, explain_message, tail
from workers.executors.states import State
from workers.records import Status

TAIL_BYTES = 64 * 1024
MAX_MESSAGE_LENGTH = 1000
UNEXPLAINED = (State.FAILED, State.LOST, State.OOM)
"""Final states about which a job's log may explain more than its cluster."""


@dataclass(frozen=True)
class LastWords:
    """Texts that a program left. `failure` is the message of its last failed status, empty if it recorded none; `log`
    and `job_log` are the last lines of its output, and of the job's output outside of it."""

    folder: str
    failure: str
    log: Sequence[str]
    job_log: Sequence[str] = ()


def read_last_words(directory: Path) -> LastWords:
    """Read the texts in a job's directory. Raise OSError."""
    return LastWords(str(directory), _failed_status(directory), tail(directory / LOG_FILE), tail(directory / JOB_LOG))


def explain_end(decision: Decision, read: Callable[[], LastWords]) -> str:
    """Return the reason of a decision with what the program left about it. `read` is called only if it is needed."""
    reason, code = decision.reason, decision.updates.get("exit_code")
    if decision.state == State.FAILED and code == DISK_FULL:
        reason = full_disk(read())
    elif decision.state == State.FAILED and code:
        reason = f"{reason}: {explain_message(_failure_message(read()))}"
    elif decision.state in UNEXPLAINED and _recorded_no_end(decision) and (findings := _diagnosis(read())):
        reason = f"{reason}: {findings}"
    return f"{reason} ({decision.remark})" if decision.remark else reason


def full_disk(words: LastWords) -> str:
    """Return why a run with a full disk ended: its own message, if there was space to write it."""
    message = f"disk full: {words.folder} cannot be written; free space, then resume the run"
    return words.failure[:MAX_MESSAGE_LENGTH].replace("\x00", "") or message


def _failure_message(words: LastWords) -> str:
    """Return the run's own failure message: its last "failed" status, else the last line that it printed."""
    return (words.failure or _last_line(words.log) or "no output")[:MAX_MESSAGE_LENGTH].replace("\x00", "")


def _diagnosis(words: LastWords) -> str:
    """Return the cause in the job's logs if its program reported none; an empty text if they show none."""
    logs = ((words.job_log, JOB_LOG), (words.log, LOG_FILE))
    return next((text for lines, name in logs if (text := explain(lines, name))), "")


def _recorded_no_end(decision: Decision) -> bool:
    """Return whether the program recorded no end of its own: there is no exit code, or a signal killed it."""
    return "exit_code" not in decision.updates or decision.updates.get("exit_signal") is not None


def _failed_status(directory: Path) -> str:
    files = sorted(directory.glob("records.*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
    if not files:
        return ""
    piece = records.read(files[-1], max(0, files[-1].stat().st_size - TAIL_BYTES), TAIL_BYTES)
    failed = [r.message for r in (line.record for line in piece.lines) if isinstance(r, Status) and r.phase == "failed"]
    return failed[-1] if failed else ""


def _last_line(log: Sequence[str]) -> str:
    lines = (line.strip() for line in reversed(log))
    return next((line for line in lines if line and "esweb agent:" not in line), "")
