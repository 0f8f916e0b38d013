"""A reader yields runs with their records one by one, and reports what it could not read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workers.executors.states import State
from workers.records import Record

UNKNOWN_METHOD = "unknown"
UNKNOWN_SEED = -1
"""Stands where a file does not say the seed: no real one is negative."""
STEP = 1
"""The step of an evaluation whose file does not say it; 0 would be the base model."""
REMARKS_KEPT = 200


@dataclass(frozen=True)
class Remark:
    """Something that was not understood, and where: `line 12`, `byte 4096`; empty where it is the whole file."""

    place: str
    why: str

    def __str__(self) -> str:
        return f"{self.place}: {self.why}" if self.place else self.why


@dataclass
class ImportReport:
    """Remarks on one source, the first ones in full and the others counted; and facts about what was understood.

    `disagreements`: sums of the source that differ from what they sum up.
    """

    remarks: list[Remark] = field(default_factory=list)
    beyond: int = 0
    facts: list[str] = field(default_factory=list)
    disagreements: list[str] = field(default_factory=list)
    is_cut: bool = False
    """The file ends before what it holds does."""

    def remark(self, place: str, why: str) -> None:
        """Something was not understood."""
        if len(self.remarks) < REMARKS_KEPT:
            self.remarks.append(Remark(place, why))
        else:
            self.beyond += 1

    def at_line(self, number: int, why: str) -> None:
        """Something was not understood, in this line of a text, counted from 1."""
        self.remark(f"line {number}", why)


@dataclass
class ImportedRun:
    """A run in a file is complete when the next run begins, or the file ends.

    `name` is the file's name for the run; `method` is empty if nothing says it.

    `settings` are hyperparameters by their names in the file. Times are Unix seconds, None where they are not told.
    """

    part: int
    kind: str
    method: str = ""
    seed: int = UNKNOWN_SEED
    settings: dict[str, Any] = field(default_factory=dict)
    state: State = State.LOST
    reason: str = ""
    note: str = ""
    suffix: str = ""
    name: str = ""
    tags: tuple[str, ...] = ()
    started_at: float | None = None
    seconds: float = 0.0
    job_id: str = ""
    keeps_log: bool = False

    @property
    def stored_method(self) -> str:
        """The method as runs have it: UNKNOWN_METHOD if nothing says it."""
        return self.method or UNKNOWN_METHOD

    def check_whole(self, count: int, whole: int, *, is_cut: bool) -> bool:
        """Make the run partial if `count` answers are not all: means over a part are not those of the whole.

        whole: how many there were, 0 if nothing says it; then a file that `is_cut` lacks some. Return whether it is.
        """
        is_partial = count < whole if whole else is_cut
        if is_partial:
            self.state = State.PARTIAL
            self.reason = f"{count} of {whole or 'an unknown number of'} answers are in the file"
        return is_partial

    def doubt(self) -> None:
        """Make a run that ended well partial if its file is damaged: what was read may differ from what was written."""
        if self.state == State.SUCCEEDED:
            self.state = State.PARTIAL
            self.reason = "the compressed file is damaged: any of its numbers may be wrong"


@dataclass(frozen=True)
class Entry:
    """A record of a run: `at` seconds after the run began, in its `epoch`, which counts restarts. Without a record it
    only says that there is this run."""

    found: ImportedRun
    record: Record | None = None
    at: float = 0.0
    epoch: int = 0


def step_of(metadata: Mapping[str, Any]) -> int:
    """After which iteration something was evaluated: the last one, or STEP where that is not told."""
    said = metadata.get("num_iterations")
    return said if isinstance(said, int) and not isinstance(said, bool) and 0 <= said < 2**62 else STEP
