"""A reader yields runs with their records one by one, and reports what it could not read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workers.executors.states import State
from workers.records import Record

UNKNOWN_METHOD = "unknown"
UNKNOWN_SEED = -1
"""Seed of a run with a file that states none; no real seed is negative."""
STEP = 1
"""Step of an evaluation with a file that states none; 0 would be the base model."""
MAX_REMARKS = 200
MAX_REFUSED_CELLS = 20
"""Refused cells of one source that are named; further ones are counted."""
MAX_CELL_TEXT = 80
NO_NUMBER = "is not a number"
STEP_COLUMNS, STEP_KEYS, KEYS, KINDS = "step columns", "step keys", "keys", "kinds"
"""Names that would do in place of those of a file that is not read."""


@dataclass(frozen=True)
class Remark:
    """A part of a file that was not understood. `position`: `line 12`, `byte 4096`, or empty for the whole file."""

    position: str
    reason: str

    def __str__(self) -> str:
        return f"{self.position}: {self.reason}" if self.position else self.reason


@dataclass(frozen=True)
class RefusedCell:
    """A cell of a table, or a labelled value of a log's line, that was left out. `line` counts from 1.

    `text` is the cell's own, cut after MAX_CELL_TEXT characters.
    """

    line: int
    column: str
    text: str
    reason: str = NO_NUMBER

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.text!r} {self.reason}"


@dataclass(frozen=True)
class Refusal:
    """A reason why nothing of a file is read, empty if it is read. `expected`: names that would do; `expected_what`
    says of what."""

    reason: str = ""
    expected_what: str = ""
    expected: tuple[str, ...] = ()

    @property
    def is_of_a_table(self) -> bool:
        """Return whether the file is a table that lacks a step."""
        return self.expected_what in (STEP_COLUMNS, STEP_KEYS)


@dataclass
class ImportReport:
    """Remarks on one source, the first ones in full and the others counted; and facts about what was understood.

    `disagreements`: sums of the source that differ from the values that they sum.
    """

    remarks: list[Remark] = field(default_factory=list)
    omitted_remarks: int = 0
    refused_cells: list[RefusedCell] = field(default_factory=list)
    omitted_cells: int = 0
    facts: list[str] = field(default_factory=list)
    disagreements: list[str] = field(default_factory=list)
    is_cut: bool = False
    """True if the file ends before its content does."""
    refusal: Refusal | None = None
    """Why nothing was read, of a source that holds nothing; None for any other."""

    def add_remark(self, position: str, reason: str) -> None:
        """Add a remark on a part that was not understood, or count it beyond MAX_REMARKS."""
        if len(self.remarks) < MAX_REMARKS:
            self.remarks.append(Remark(position, reason))
        else:
            self.omitted_remarks += 1

    def add_line_remark(self, number: int, reason: str) -> None:
        """Add a remark on a line of a text, counted from 1."""
        self.add_remark(f"line {number}", reason)

    def refuse_cell(self, line: int, column: str, text: str, reason: str = NO_NUMBER) -> None:
        """Name a cell that was left out, with its own text, or count it beyond MAX_REFUSED_CELLS."""
        if len(self.refused_cells) >= MAX_REFUSED_CELLS:
            self.omitted_cells += 1
            return
        short = text if len(text) <= MAX_CELL_TEXT else f"{text[:MAX_CELL_TEXT]}…"
        self.refused_cells.append(RefusedCell(line, column[:MAX_CELL_TEXT], short, reason))

    @property
    def cell_count(self) -> int:
        """Return the number of refused cells, named or not."""
        return len(self.refused_cells) + self.omitted_cells

    @property
    def is_understood(self) -> bool:
        """Return whether a reader understood something besides runs."""
        return bool(self.facts or self.disagreements)

    @property
    def has_problems(self) -> bool:
        """Return whether a part of the source was left out."""
        return bool(self.remarks or self.refused_cells)


@dataclass
class ImportedRun:
    """A run in a file is complete when the next run begins, or the file ends.

    `name` is the file's name for the run; `method` is empty if the file does not state it.

    `settings` are hyperparameters by their names in the file. Times are Unix seconds, or None if not stated.
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
        """Return the method to store: UNKNOWN_METHOD if the file does not state it."""
        return self.method or UNKNOWN_METHOD

    def check_whole(self, count: int, whole: int, *, is_cut: bool) -> bool:
        """Make the run partial if `count` answers are not all of them, and return whether it is partial.

        Means over a part are not those of the whole. whole: number of all answers, 0 if not stated; then a file that
        `is_cut` lacks some.
        """
        is_partial = count < whole if whole else is_cut
        if is_partial:
            self.state = State.PARTIAL
            self.reason = f"{count} of {whole or 'an unknown number of'} responses are in the file"
        return is_partial

    def mark_damaged(self) -> None:
        """Make a succeeded run partial, since its file is damaged: its numbers may differ from what was written."""
        if self.state == State.SUCCEEDED:
            self.state = State.PARTIAL
            self.reason = "the compressed file is damaged: any of its numbers may be wrong"


@dataclass(frozen=True)
class SeedSums:
    """A row of a report: means and spreads over seeds. If the seeds of these settings are imported, the row is compared
    with them and becomes no run."""

    method: str
    settings: dict[str, Any]
    row: dict[str, Any]
    label: str


@dataclass(frozen=True)
class Entry:
    """A record of a run, `at` seconds after the run began (None: the file states times, but none for this record), in
    its `epoch`, which counts restarts. Without a record the entry only reports that the run exists."""

    run: ImportedRun
    record: Record | None = None
    at: float | None = 0.0
    epoch: int = 0
    sums: SeedSums | None = None


def step_of(metadata: Mapping[str, Any]) -> int:
    """Return the iteration after which an evaluation ran: the last one, or STEP if the metadata do not state it."""
    iterations = metadata.get("num_iterations")
    return (
        iterations
        if isinstance(iterations, int) and not isinstance(iterations, bool) and 0 <= iterations < 2**62
        else STEP
    )
