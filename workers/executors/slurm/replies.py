"""Parser of the output of squeue and sacct."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from workers.executors.base import Observation
from workers.executors.slurm.reasons import describe_reason, never_starts
from workers.executors.slurm.states import describe_end, state_of
from workers.executors.states import State

SQUEUE_FORMAT = "%i|%T|%r|%N|%j"
"""Columns of squeue, the name last: it may contain the separator."""
SACCT_FORMAT = "JobIDRaw,State,Reason,NodeList,JobName%200"


@dataclass(frozen=True)
class Row:
    """One job, as Slurm reports it."""

    native_id: str
    word: str
    reason: str
    nodes: str
    name: str

    @property
    def state(self) -> State:
        """Return our state."""
        return state_of(self.word, bool(self.nodes))

    @property
    def is_ghost(self) -> bool:
        """Return whether sbatch refused the job: Slurm keeps such a job as FAILED all the same, under our name."""
        return self.word == "FAILED" and not self.nodes and self.reason == "BadConstraints"

    def to_observation(self) -> Observation:
        """Return the state and its reason as an observation."""
        state = self.state
        if state.is_final:
            reason = describe_end(state, self.word, self.reason, self.nodes)
        elif state == State.QUEUED:
            reason = describe_reason(self.reason)
        else:
            reason = f"on {self.nodes}" if self.nodes else ""
        is_stuck = state == State.QUEUED and never_starts(self.reason)
        return Observation(state, self.native_id, self.word, reason, self.nodes, is_stuck)


def rows(text: str) -> list[Row]:
    """Return one row per line of five columns. The rest of a name that holds a line's end is skipped.

    Raise ValueError if no line is a row: such a text is not a reply.
    """
    lines = text.splitlines()
    parsed = [_row(fields) for line in lines if len(fields := line.split("|", 4)) == 5]
    if lines and not parsed:
        raise ValueError(f"no line of five columns: {text[:200]!r}")
    return parsed


def _row(fields: list[str]) -> Row:
    native_id, word, reason, nodes, name = fields
    return Row(native_id, word.strip(), reason, "" if nodes in ("None assigned", "(null)") else nodes, name)


def latest_rows(rows: Iterable[Row], keys: Iterable[str]) -> dict[str, Row]:
    """Return key -> the job that counts if there are several: a running one, else a waiting one, else the first that
    ran."""
    names, best = set(keys), dict[str, Row]()
    for row in rows:
        if row.name in names and not row.is_ghost:
            best[row.name] = min(best.get(row.name, row), row, key=_rank)
    return best


def _rank(row: Row) -> tuple[int, int]:
    state = row.state
    order = 2 if state == State.QUEUED else 1 if not state.is_final else 3 if row.nodes else 4
    number = re.match(r"\d+", row.native_id)
    return order, int(number[0]) if number else 0
