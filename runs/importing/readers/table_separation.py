"""Columns that tell the rows of one step apart, though their names do not say so: runs of a sweep, or splits of data.

A table may name its runs in a column `label`, or only by their learning rate. Its steps are then stated several times,
each time with other numbers, and as one run it would be a run that contradicts itself. A column explains that if the
steps of each of its values ascend.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from runs.importing.decimal_signs import is_numeral
from runs.importing.numbers import parse_number
from runs.importing.readers.table_columns import Role, hyperparameter_of, plain_name, role_of

SPLIT_NAMES = (
    "split", "phase", "mode", "stage", "subset", "partition", "dataset", "data_set", "dataset_name", "eval_set",
    "eval_name", "task", "benchmark", "suite", "domain", "category", "language", "type",
)  # fmt: skip
"""Names of columns whose values are parts of one run, such as train and eval: each has series of its own."""
OTHER_NAMES = {
    "prompt", "question", "query", "instruction", "input", "text", "completion", "response", "answer", "output",
    "prediction", "generation", "target", "solution", "ground_truth", "reference", "note", "notes", "comment",
    "host", "hostname", "node", "date", "time", "state", "status", "user", "device",
}  # fmt: skip
"""Names of columns that name no run: texts of samples, and circumstances that change when a run is started again."""
RUN_WORDS = {
    "id", "name", "label", "group", "config", "dir", "folder", "path", "file", "source", "job", "rank", "worker", "env",
    "replicate", "replica", "repeat", "rep", "fold", "arm", "condition", "setting",
}  # fmt: skip
"""Words of names of columns that may name runs by whole numbers, and by a single row each."""
MAX_VALUES, MAX_TEXT_LENGTH = 200, 80


class _Kind(Enum):
    """Kind of a column, by its name and its first cell."""

    TEXT = "a text that may name a run or a split"
    SETTING = "a hyperparameter"
    NUMBERS = "numbers, or what names no run"


@dataclass
class _Candidate:
    """A column, or several, while the table's rows are read. `steps`: the last one of each series of each part."""

    steps: dict[tuple[Any, ...], tuple[int, str]] = field(default_factory=dict)
    parts: set[Any] = field(default_factory=set)
    starts: dict[Any, int] = field(default_factory=dict)
    """The first step of each part."""
    rows: int = 0
    contradictions: int = 0
    """Rows that state a step again, with another number."""
    restarts: int = 0
    """Rows that go back to an earlier step."""

    def add(self, part: Any, run: Any, numbers: Iterable[tuple[str, str]], step: int) -> None:
        self.parts.add(part)
        self.starts.setdefault((part, run), step)
        self.rows += 1
        if self.contradictions and part:
            return
        differs = goes_back = False
        for column, text in numbers:
            last, number = self.steps.get((part, run, column), (step, text))
            differs |= step == last and text != number
            goes_back |= step < last
            self.steps[part, run, column] = step, text
        self.contradictions += int(differs)
        self.restarts += int(goes_back)


class Separation:
    """Which columns separate the rows of a table. `add` sees each row, `columns` decides."""

    def __init__(self) -> None:
        self._kinds: dict[str, _Kind] = {}
        self._candidates: dict[str, _Candidate] = {}
        self._sweep, self._whole = _Candidate(), _Candidate()
        self._hyperparameters: dict[str, None] = {}

    def add(self, cells: Mapping[str, Any], step: int | None, run: Any) -> None:
        """Take a row into account. run: what tells its run apart by a name that is known, and its metric."""
        texts, sweep, numbers = list[tuple[str, str]](), list[tuple[str, str]](), list[tuple[str, str]]()
        for column, cell in cells.items():
            if cell is None or cell == "" or isinstance(cell, list):
                continue
            kind = self._kinds.get(column) or self._kinds.setdefault(column, _kind_of(column, cell))
            {_Kind.TEXT: texts, _Kind.SETTING: sweep, _Kind.NUMBERS: numbers}[kind].append((column, str(cell).strip()))
        self._hyperparameters.update(dict.fromkeys(column for column, _ in sweep))
        if step is None or not numbers or not (self._candidates or texts or self._hyperparameters):
            return
        self._whole.add((), run, numbers, step)
        if len(self._sweep.parts) <= MAX_VALUES:
            self._sweep.add(tuple(sweep), run, numbers, step)
        for column, text in texts:
            candidate = self._candidates.setdefault(column, _Candidate())
            candidate.add(text, run, numbers, step)
            is_name = len(text) <= MAX_TEXT_LENGTH and "\n" not in text and len(candidate.parts) <= MAX_VALUES
            if not is_name or candidate.contradictions:
                self._kinds[column] = _Kind.NUMBERS
                del self._candidates[column]

    def columns(self) -> tuple[str, ...]:
        """Return the columns that separate rows which would contradict each other; none if no column explains them."""
        if not self._whole.contradictions + self._whole.restarts:
            return ()
        for column, candidate in self._candidates.items():
            if self._explains(candidate, is_name=_is_name(column, candidate)):
                return (column,)
        return tuple(self._hyperparameters) if self._explains(self._sweep, is_name=False) else ()

    def _explains(self, candidate: _Candidate, *, is_name: bool) -> bool:
        """Return whether no part contradicts itself, and the parts go back less often than the whole.

        Unless its name says that a column names runs, its parts have several rows each, since those of one row are
        samples, and they begin at one step: what changes later, as a job's id does, changes with a restart.
        """
        count, whole = len(candidate.parts), self._whole
        is_complete = candidate.rows == whole.rows and 1 < count <= MAX_VALUES
        is_better = not candidate.contradictions and candidate.restarts < whole.contradictions + whole.restarts
        starts = {run: start for (_, run), start in candidate.starts.items()}
        begin_alike = all(start == starts[run] for (_, run), start in candidate.starts.items())
        return is_complete and is_better and (is_name or (candidate.rows >= 2 * count and begin_alike))


def _kind_of(column: str, cell: Any) -> _Kind:
    """Return what a column is that begins with this cell."""
    if role_of(column) is not Role.SERIES or plain_name(column) in OTHER_NAMES:
        return _Kind.NUMBERS
    if not _is_number(cell):
        return _Kind.TEXT
    if hyperparameter_of(column):
        return _Kind.SETTING
    return _Kind.TEXT if _names_run(column) and str(cell).strip().isdecimal() else _Kind.NUMBERS


def _is_number(cell: Any) -> bool:
    return not isinstance(cell, str) or is_numeral(cell) or parse_number(cell.strip()) is not None


def _names_run(column: str) -> bool:
    return bool(RUN_WORDS & set(plain_name(column).split("_")))


def _is_name(column: str, candidate: _Candidate) -> bool:
    """Return whether the texts of a column name runs even if each has one row, or begins at another step."""
    return _names_run(column) and not all(text.isdecimal() for text in candidate.parts)


def is_split(columns: Collection[str]) -> bool:
    """Return whether the parts are those of one run."""
    return len(columns) == 1 and all(plain_name(column) in SPLIT_NAMES for column in columns)


def separation_fact(columns: Sequence[str]) -> str:
    """Return by which columns rows were separated that state the same steps."""
    what = "has series" if is_split(columns) else "is a run"
    names = ", ".join(columns)
    return f"its rows state the same steps several times: each value of {names} {what} of its own"
