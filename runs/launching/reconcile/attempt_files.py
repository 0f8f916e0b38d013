"""Read the state of an attempt from its directory: exit record, heartbeat, claim, and the last line that it printed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from signal import SIGKILL
from typing import Any

from workers import records
from workers.attempt import ALREADY_CLAIMED, claim_path, is_stop, read_json
from workers.executors.diagnosis import diagnose, explain_message, tail
from workers.executors.mirror import read_state
from workers.records import Status
from workers.records.times import to_datetime

TAIL_BYTES = 64 * 1024
MAX_MESSAGE_LENGTH = 1000
JOB_LOG = "slurm.log"
"""File of the output of a Slurm job outside of its program."""


@dataclass(frozen=True)
class Ending:
    """Content of exit.json: the end of the program. Times are by the clock of the machine where it ran;
    None if a number of the file is no time.

    `oom_kills`: processes of its control group that the kernel killed for lack of memory in its last minute; None if
    that machine does not report them.
    """

    code: int | None
    signal: int | None
    timed_out: bool
    stopped: bool
    started_at: datetime | None
    ended_at: datetime | None
    oom_kills: int | None = None

    @property
    def is_out_of_memory(self) -> bool:
        """Return whether the program was killed, and the kernel has killed for lack of memory just then."""
        return self.signal == SIGKILL and bool(self.oom_kills)

    @property
    def is_stop(self) -> bool:
        """Return whether the program ended because it was asked to stop, and not by a failure of its own."""
        return is_stop(vars(self))

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Ending:
        """Build it from the file's JSON. Raise ValueError, KeyError or TypeError if the file is not an agent's."""
        return cls(
            code=data["code"],
            signal=data["signal"],
            timed_out=bool(data["timed_out"]),
            stopped=bool(data["stopped"]),
            started_at=to_datetime(float(data["started_at"])),
            ended_at=to_datetime(float(data["ended_at"])),
            oom_kills=data.get("oom_kills"),
        )


@dataclass(frozen=True)
class Traces:
    """State of the directory at one time. `heartbeat` is the heartbeat's counter; `is_behind`: a remote disk holds
    more; `was_refused`: a second agent found the attempt claimed and started nothing."""

    ending: Ending | None = None
    heartbeat: int | None = None
    is_claimed: bool = False
    is_behind: bool = False
    was_refused: bool = False


def read_traces(directory: Path) -> Traces:
    """Read the traces. Raise OSError, ValueError, KeyError or TypeError for an unusable file."""
    ending = read_json(directory / "exit.json")
    heart = read_json(directory / "heartbeat.json")
    return Traces(
        ending=Ending.from_json(ending) if ending else None,
        heartbeat=int(heart["n"]) if heart else None,
        is_claimed=claim_path(directory).exists(),
        is_behind=(copy := read_state(directory)) is not None and copy.is_behind,
        was_refused=any(ALREADY_CLAIMED in line for line in tail(directory / JOB_LOG)),
    )


def failure_message(directory: Path) -> str:
    """Return the run's own failure message: its last "failed" status, else the last line that it printed. A hint how to
    fix it is added if one is known."""
    return explain_message(_failure_message(directory))


def full_disk(directory: Path) -> str:
    """Return why a run with a full disk ended: its own message, if there was space to write it."""
    message = f"disk full: {directory} cannot be written; free space, then resume the run"
    return _failed_status(directory)[:MAX_MESSAGE_LENGTH].replace("\x00", "") or message


def _failure_message(directory: Path) -> str:
    return (_failed_status(directory) or _last_line(directory / "log.txt") or "no output")[:MAX_MESSAGE_LENGTH].replace(
        "\x00", ""
    )


def diagnosis(directory: Path) -> str:
    """Return the cause in the job's logs if its program reported none; an empty text if they show none."""
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
