"""What squeue, sacct and sbatch print, read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from workers.executors.base import Observation
from workers.executors.slurm.reasons import in_words, never_starts
from workers.executors.slurm.states import end_in_words, state_of
from workers.executors.states import State

SQUEUE_FORMAT = "%i|%T|%r|%N|%j"
"""The name last: it may hold what stands between the others."""
SACCT_FORMAT = "JobIDRaw,State,Reason,NodeList,JobName%200"
REFUSED = re.compile(
    r"invalid|not available|not permitted|violates|denied|not satisf|can not be|cannot be|too long|too large"
    r"|unrecognized option|unable to open|exceed|more processors|no partition|not a valid",
    re.IGNORECASE,
)
UNCLEAR = re.compile(
    r"timed out|unable to contact|connection|communication|try again|temporarily|socket", re.IGNORECASE
)
"""What was sent may have arrived."""


@dataclass(frozen=True)
class Row:
    """One job, as Slurm has it."""

    native_id: str
    word: str
    reason: str
    nodes: str
    name: str

    @property
    def state(self) -> State:
        """Ours."""
        return state_of(self.word, bool(self.nodes))

    @property
    def is_ghost(self) -> bool:
        """A job that sbatch refused: Slurm keeps it as FAILED all the same, under our name."""
        return self.word == "FAILED" and not self.nodes and self.reason == "BadConstraints"

    @property
    def is_held_task(self) -> bool:
        """A task of an array that nobody has let go yet."""
        return self.state == State.QUEUED and self.reason == "JobHeldUser" and "_" in self.native_id

    def observed(self) -> Observation:
        """What there is to say about it."""
        state = self.state
        if state.is_final:
            why = end_in_words(state, self.word, self.reason, self.nodes)
        elif state == State.QUEUED:
            why = in_words(self.reason)
        else:
            why = f"on {self.nodes}" if self.nodes else ""
        is_stuck = state == State.QUEUED and never_starts(self.reason)
        return Observation(state, self.native_id, self.word, why, self.nodes, is_stuck)


def rows(text: str) -> list[Row]:
    """One row a line of five columns. The rest of a name that holds a line's end is passed over.

    Raises ValueError where no line is a row: that is no answer.
    """
    lines = text.splitlines()
    found = [_row(fields) for line in lines if len(fields := line.split("|", 4)) == 5]
    if lines and not found:
        raise ValueError(f"no line of five columns: {text[:200]!r}")
    return found


def _row(fields: list[str]) -> Row:
    native_id, word, reason, nodes, name = fields
    return Row(native_id, word.strip(), reason, "" if nodes in ("None assigned", "(null)") else nodes, name)


def of_each(found: Iterable[Row], keys: Iterable[str]) -> dict[str, Row]:
    """Key -> the job that matters where there are several: one that runs, else waits, else the first that ran."""
    wanted, best = set(keys), dict[str, Row]()
    for row in found:
        if row.name in wanted and not row.is_ghost:
            best[row.name] = min(best.get(row.name, row), row, key=_rank)
    return best


def _rank(row: Row) -> tuple[int, int]:
    state = row.state
    order = 2 if state == State.QUEUED else 1 if not state.is_final else 3 if row.nodes else 4
    number = re.match(r"\d+", row.native_id)
    return order, int(number[0]) if number else 0


def refusal(text: str) -> str:
    """Why sbatch refused, in one line; empty where what it says leaves open whether the job was taken."""
    lines = [line.removeprefix("sbatch: ").removeprefix("error: ").strip() for line in text.splitlines()]
    said = "; ".join(line for line in lines if line)
    return said if REFUSED.search(said) and not UNCLEAR.search(said) else ""
