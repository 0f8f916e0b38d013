"""Read from an attempt's directory how it lives or ended: exit record, heartbeat, claim, the last line it printed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from workers import records
from workers.attempt import ALREADY_CLAIMED, claim_path, read_json
from workers.executors.diagnosis import diagnose, in_its_words, tail
from workers.executors.mirror import mirrored
from workers.records import Status

TAIL_BYTES = 64 * 1024
WORDS = 1000
JOB_LOG = "slurm.log"
"""What a job of Slurm prints outside of its program."""


@dataclass(frozen=True)
class Ending:
    """exit.json: how the program ended. Times are of the machine where it ran."""

    code: int | None
    signal: int | None
    timed_out: bool
    stopped: bool
    started_at: datetime
    ended_at: datetime

    @classmethod
    def of(cls, data: dict[str, Any]) -> Ending:
        """Raises ValueError, KeyError or TypeError where the file is not an agent's."""
        return cls(
            code=data["code"],
            signal=data["signal"],
            timed_out=bool(data["timed_out"]),
            stopped=bool(data["stopped"]),
            started_at=datetime.fromtimestamp(float(data["started_at"]), UTC),
            ended_at=datetime.fromtimestamp(float(data["ended_at"]), UTC),
        )


@dataclass(frozen=True)
class Traces:
    """One look at the directory. `beat` is the heartbeat's counter; `is_behind`: there is more on a far disk;
    `was_refused`: a second agent came, found the attempt taken and started nothing."""

    ending: Ending | None = None
    beat: int | None = None
    is_claimed: bool = False
    is_behind: bool = False
    was_refused: bool = False


def traces(directory: Path) -> Traces:
    """Reads them. Raises OSError, ValueError, KeyError or TypeError for a file that cannot be used."""
    ending = read_json(directory / "exit.json")
    heart = read_json(directory / "heartbeat.json")
    return Traces(
        ending=Ending.of(ending) if ending else None,
        beat=int(heart["n"]) if heart else None,
        is_claimed=claim_path(directory).exists(),
        is_behind=(copy := mirrored(directory)) is not None and copy.is_behind,
        was_refused=any(ALREADY_CLAIMED in line for line in tail(directory / JOB_LOG)),
    )


def last_words(directory: Path) -> str:
    """Why the run failed, in its own words: its last "failed" status, else the last line that it printed. With what to
    do about it, where that is known."""
    return in_its_words(_last_words(directory))


def full_disk(directory: Path) -> str:
    """Return why a run ended that could write no more: in its own words, if there was room for these."""
    said = f"disk full: {directory} takes no more; make room, then resume the run"
    return _failed_status(directory)[:WORDS].replace("\x00", "") or said


def _last_words(directory: Path) -> str:
    return (_failed_status(directory) or _last_line(directory / "log.txt") or "it said nothing")[:WORDS].replace(
        "\x00", ""
    )


def diagnosis(directory: Path) -> str:
    """Return what the job's log shows if its program could not say why it failed; empty if it shows nothing."""
    return diagnose(directory / JOB_LOG, directory / "log.txt")


def _failed_status(directory: Path) -> str:
    files = sorted(directory.glob("records.*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
    if not files:
        return ""
    piece = records.read(files[-1], max(0, files[-1].stat().st_size - TAIL_BYTES), TAIL_BYTES)
    failed = [r.message for r in (line.record for line in piece.lines) if isinstance(r, Status) and r.phase == "failed"]
    return failed[-1] if failed else ""


def _last_line(log: Path) -> str:
    lines = (line.strip() for line in reversed(tail(log)))
    return next((line for line in lines if line and "esweb agent:" not in line), "")
