"""Read the state of an attempt from its directory: exit record, heartbeat, claim, and the last line that it printed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from signal import SIGKILL
from typing import Any

from workers.attempt import ALREADY_CLAIMED, claim_path, is_stop, read_json
from workers.executors.diagnosis import tail
from workers.executors.mirror import read_state
from workers.records.times import to_datetime

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
