"""Readings of a line of a training program: the contract between `log` and the readers of programs' own lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from runs.importing import vocabulary
from runs.importing.numbers import parse_number
from runs.importing.records import ImportReport
from runs.importing.text import Line
from workers.records import Member


@dataclass(frozen=True)
class Reading:
    """Numbers and members of a step, or settings of the run, from one or several lines.

    `step` is None for that of the reading before. `steps_done`: the number of steps whose update is complete, if the
    program states the end of a step, or counts steps from 0; else None. `total`: the number of steps, 0 if not stated.
    `seconds`: those that the step took.
    """

    step: int | None = None
    values: dict[str, float] = field(default_factory=dict)
    members: tuple[Member, ...] = ()
    steps_done: int | None = None
    total: int = 0
    seconds: float = 0.0
    settings: dict[str, Any] = field(default_factory=dict)
    method: str = ""
    is_end: bool = False
    """True if the run has ended by itself."""


class ProgramLines(Protocol):
    """Reader of the lines that one training program writes. It holds what its lines so far stated of the step."""

    kind: str

    def read(self, line: Line) -> Iterator[Reading] | None:
        """Return what a line states, or None if it is not a line of this program."""

    def end(self) -> Iterator[Reading]:
        """Yield what the lines before the end of the file stated."""


def labelled_numbers(
    line: Line, text: str, separator: str, report: ImportReport, sign: str = ":"
) -> Iterator[tuple[str, float]]:
    """Yield (label, number) of each part of a text such as `loss: 0.5, total: 1.5s`; the report names other values."""
    for part in text.split(separator):
        label, _, value = part.rpartition(sign)
        label, value = label.strip(), value.strip()
        if not label:
            continue
        number = parse_number(value.removesuffix("s") if value[:1].isdigit() else value)
        if number is None:
            report.refuse_cell(line.number, label, value)
        else:
            yield label, number


def usable(values: dict[str, float]) -> dict[str, float]:
    """Return the values whose keys can be names of series."""
    return {key: value for key, value in values.items() if vocabulary.is_usable(key)}
