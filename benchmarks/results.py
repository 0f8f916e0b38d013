"""Results of benchmarks: one for each figure that a benchmark promises, and the table that shows all of them.

A benchmark calls `at_most`, `at_least` or `times_peer` for each promise, `without_goal` for a figure that promises
nothing, and `not_measured` if a requirement is missing. It ends with `sys.exit(exit_code())`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

RESULTS_FILE = "ESWEB_BENCHMARK_RESULTS"
"""Environment variable with the path of a file to which each result is appended as one line of JSON."""
MISSED_EXIT_CODE = 3
"""A benchmark that crashed exits with 1, as Python does, so a missed promise has another exit code."""
HEADER = ("benchmark", "figure", "measured", "goal", "ratio", "result")
GOAL = "the goal"


class Status(StrEnum):
    """The outcome of a result's promise."""

    MET = "met"
    MISSED = "missed"
    NO_GOAL = "no goal"
    NOT_MEASURED = "not measured"
    FAILED = "failed"

    @property
    def is_good(self) -> bool:
        """A promise that could not be measured counts as missed."""
        return self in (Status.MET, Status.NO_GOAL)


@dataclass(frozen=True)
class Result:
    """One figure. `ratio` compares it with `peer`: its goal, or another program or method."""

    figure: str
    measured: str
    status: Status
    goal: str = ""
    ratio: float | None = None
    peer: str = GOAL

    @property
    def cells(self) -> tuple[str, ...]:
        """The columns of HEADER after the first."""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}x {self.peer}"
        return self.figure, self.measured, self.goal, ratio, self.status.value

    def to_json(self) -> str:
        """Return one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Result:
        """Return the result that `to_json` wrote."""
        fields = json.loads(line)
        return cls(**fields | {"status": Status(fields["status"])})


_results: list[Result] = []
"""Results that this process recorded."""


def at_most(figure: str, measured: float, goal: float, unit: str) -> None:
    """Record a figure that promises to be no higher than its goal."""
    status = Status.MET if measured <= goal else Status.MISSED
    record(Result(figure, _number(measured, unit), status, f"≤ {_number(goal, unit)}", measured / goal))


def at_least(figure: str, measured: float, goal: float, unit: str) -> None:
    """Record a figure that promises to be no lower than its goal."""
    status = Status.MET if measured >= goal else Status.MISSED
    record(Result(figure, _number(measured, unit), status, f"≥ {_number(goal, unit)}", measured / goal))


def times_peer(figure: str, measured: float, unit: str, *, ratio: float, goal: float, peer: str) -> None:
    """Record a figure that promises to be so many times its peer's: `ratio` is at least `goal`."""
    status = Status.MET if ratio >= goal else Status.MISSED
    record(Result(figure, _number(measured, unit), status, f"≥ {goal:g}x {peer}", ratio, peer))


def without_goal(figure: str, measured: float, unit: str, *, ratio: float | None = None, peer: str = "") -> None:
    """Record a figure that promises nothing."""
    record(Result(figure, _number(measured, unit), Status.NO_GOAL, "", ratio, peer))


def not_measured(figure: str, reason: str) -> None:
    """Record a promise that cannot be measured here, with the reason instead of a number."""
    record(Result(figure, reason, Status.NOT_MEASURED))


def record(result: Result) -> None:
    """Print the result, and append it to the file that the environment names."""
    _results.append(result)
    print("  ".join(cell for cell in result.cells if cell), flush=True)
    if path := os.environ.get(RESULTS_FILE):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{result.to_json()}\n")


def exit_code() -> int:
    """Return the exit code of a benchmark that ran to its end."""
    return 0 if all(result.status.is_good for result in _results) else MISSED_EXIT_CODE


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return a table as text, its first row underlined."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    header, *body = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in (header, "-" * len(header), *body))


def _number(value: float, unit: str) -> str:
    """Return three digits, or all whole ones with spaces between thousands."""
    digits = f"{value:,.0f}".replace(",", " ") if abs(value) >= 100 else f"{value:.3g}"
    return f"{digits} {unit}".rstrip()
