"""Read a columnar push: metric records as one JSON object of columns, which become arrays without an object per record.

    {"seq": 0, "t": [1.5, 2.5], "step": [1, 2], "axes": {"tokens": [512, 1024]}, "values": {"kl": [0.1, null]}}

Row i is the record seq + i; null means that the record does not have that key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import NoneType
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from runs.ingest.limits import BIG, MAX_KEYS, key_refusal
from runs.metrics import AXES, Block, Floats, Ints, block
from workers.config import Problem
from workers.records import Line, Metric
from workers.records.lines import NON_FINITE

FIELDS = ("seq", "t", "step", "axes", "values")
REQUIRED_FIELDS = ("seq", "t", "step", "values")
NUMBERS = {int, float}
MAX_PROBLEMS = 20

Cells = tuple[NDArray[np.uint32], Floats]
"""Indices of the records that have a key, and its value in each."""


class BadColumns(ValueError):
    """An error for a body that is not a columnar push. `problems` lists what is wrong, each problem with its path."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


@dataclass(frozen=True)
class Columns:
    """Metric records with consecutive seqs, from `first_seq` on."""

    first_seq: int
    points: Block

    def __len__(self) -> int:
        return len(self.points.steps)

    @property
    def next_seq(self) -> int:
        """Return the seq after the last record."""
        return self.first_seq + len(self)

    def since(self, seq: int) -> Columns:
        """Return the records from `seq` on."""
        skip = seq - self.first_seq
        return self if skip <= 0 else Columns(seq, _since(self.points, min(skip, len(self))))


def read_columns(data: bytes) -> Columns:
    """Return the records in the body of a push. Raise BadColumns if the body is not a columnar push."""
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BadColumns(Problem("body", f"not JSON: {error}")) from error
    if problems := list(islice(_wrong_shape(body), MAX_PROBLEMS)):
        raise BadColumns(*problems)
    if (keys := len(body["values"]) + len(body.get("axes", {}))) > MAX_KEYS:
        raise BadColumns(too_many_keys(keys))
    steps, t = body["step"], body["t"]
    problems = [*_wrong_steps(body["seq"], steps), *_wrong_times(t, len(steps))]
    columns = _columns_by_key(body)
    cells = {key: _cells(path, column, len(steps), problems) for key, (path, column) in columns.items()}
    problems += _wrong_keys(columns)
    if problems:
        raise BadColumns(*problems[:MAX_PROBLEMS])
    return Columns(body["seq"], _block(np.array(steps, np.int64), np.array(t, np.float64), cells))


def as_columns(lines: Sequence[Line]) -> Columns | None:
    """Return records that came as lines, if they are metrics and each follows the one before; None if they are not."""
    metrics = [(line.t, line.record) for line in lines if isinstance(line.record, Metric)]
    first = lines[0].seq if lines else 0
    if len(metrics) < len(lines) or any(line.seq != seq for seq, line in enumerate(lines, first)):
        return None
    return Columns(first, block(metrics))


def _wrong_shape(body: Any) -> Iterator[Problem]:
    if not isinstance(body, dict):
        yield Problem("body", f"must be an object with {', '.join(FIELDS)}")
        return
    for name in body.keys() - set(FIELDS):
        yield Problem(name[:200], f"is not a known field; the fields are {', '.join(FIELDS)}")
    for name in REQUIRED_FIELDS:
        if name not in body:
            yield Problem(name, "is missing")
    if type(body.get("seq", 0)) is not int or not 0 <= body.get("seq", 0) < BIG:
        yield Problem("seq", f"must be a whole number from 0 to {BIG - 1}")
    for name in ("t", "step"):
        if not isinstance(body.get(name, []), list):
            yield Problem(name, "must be a list with one entry per record")
    for name in ("axes", "values"):
        columns = body.get(name, {})
        if not isinstance(columns, dict) or not all(isinstance(column, list) for column in columns.values()):
            yield Problem(name, "must be an object of lists, each with one entry per record")


def _wrong_steps(seq: int, steps: list[Any]) -> Iterator[Problem]:
    if steps and (set(map(type, steps)) != {int} or not -BIG <= min(steps) <= max(steps) < BIG):
        yield Problem("step", "must contain 64-bit whole numbers")
    if seq + len(steps) >= BIG:
        yield Problem("seq", "must fit 64 bits, also for the last record")


def _wrong_times(t: list[Any], records: int) -> Iterator[Problem]:
    if not set(map(type, t)) <= {*NUMBERS, str} or {v for v in t if type(v) is str} - NON_FINITE.keys():
        yield Problem("t", f"must contain numbers, seconds since 1970, or {', '.join(NON_FINITE)} if unknown")
    if len(t) != records:
        yield Problem("t", _unequal(len(t), records))


def _wrong_keys(columns: Mapping[str, Any]) -> Iterator[Problem]:
    for key, (path, _) in columns.items():
        if complaint := key_refusal(key.removeprefix(AXES) if path.startswith("axes.") else key):
            key_refusal.cache_clear()
            yield Problem(path[:200], complaint)


def _columns_by_key(body: Mapping[str, Any]) -> dict[str, tuple[str, list[Any]]]:
    """Return (path in the body, column) by key, sorted by key."""
    values = {key: (f"values.{key}", column) for key, column in body["values"].items()}
    axes = {AXES + key: (f"axes.{key}", column) for key, column in body.get("axes", {}).items()}
    return dict(sorted((values | axes).items()))


def _cells(path: str, column: list[Any], records: int, problems: list[Problem]) -> Cells:
    """Return the cells of one column; append its errors to `problems`, and return no cells if there are any."""
    kinds = set(map(type, column))
    if len(column) != records:
        problems.append(Problem(path[:200], _unequal(len(column), records)))
    elif kinds <= NUMBERS:
        return np.arange(records, dtype=np.uint32), np.array(column, np.float64)
    elif not kinds <= {*NUMBERS, str, NoneType} or {v for v in column if type(v) is str} - NON_FINITE.keys():
        problems.append(Problem(path[:200], f"must contain numbers, {', '.join(NON_FINITE)}, or null if there is none"))
    else:
        rows = np.array([row for row, value in enumerate(column) if value is not None], np.uint32)
        # numpy reads the three names as it reads numbers.
        return rows, np.array(column, object)[rows].astype(np.float64)
    return np.empty(0, np.uint32), np.empty(0)


def too_many_keys(keys: int) -> Problem:
    """Return the problem of a push with more than MAX_KEYS keys."""
    return Problem("values", f"has {keys} keys, axes included; at most {MAX_KEYS} are stored")


def _unequal(entries: int, records: int) -> str:
    return f"has {entries} entries, but step has {records}; all columns must have the same length"


def _block(steps: Ints, t: Floats, cells: Mapping[str, Cells]) -> Block:
    filled = {key: column_cells for key, column_cells in cells.items() if len(column_cells[0])}
    return Block(
        keys=tuple(filled),
        steps=steps,
        t=t,
        cuts=np.cumsum([0, *(len(rows) for rows, _ in filled.values())], dtype=np.int64),
        rows=np.concatenate([np.empty(0, np.uint32), *(rows for rows, _ in filled.values())]),
        values=np.concatenate([np.empty(0), *(values for _, values in filled.values())]),
    )


def _since(points: Block, skip: int) -> Block:
    """Return the block without its first `skip` records."""
    cells = {key: points.column(key) for key in points.keys}
    late = {key: (rows[rows >= skip] - np.uint32(skip), values[rows >= skip]) for key, (rows, values) in cells.items()}
    return _block(points.steps[skip:], points.t[skip:], late)
