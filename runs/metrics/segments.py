"""What was written of a key, piece by piece: a column is put together when it is asked for, and only then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from runs.metrics.number_codec import Progression
from runs.metrics.packing import Floats, Ints


class Part(Protocol):
    """Points in the order written: a batch's column, or a chunk that is still packed."""

    def __len__(self) -> int: ...
    @property
    def records(self) -> Ints: ...
    @property
    def steps(self) -> Ints: ...
    @property
    def line(self) -> Progression | None: ...
    @property
    def values(self) -> NDArray[Any]: ...


@dataclass(frozen=True)
class Written:
    """All `n` points of one key of one run, in the order of the processes that wrote them; `numbers` says of each part
    which process (attempt and epoch) that was, ascending. cursor: the newest batch that the points come from."""

    parts: tuple[Part, ...]
    numbers: tuple[int, ...]
    cursor: int

    @classmethod
    def of(cls, found: Sequence[tuple[int, int, Part]]) -> Written:
        """Out of (process, cursor, points), at least one."""
        numbers, cursors, parts = zip(*found, strict=True)
        return cls(parts, numbers, max(cursors))

    def __len__(self) -> int:
        return self._ends[-1]

    @cached_property
    def segments(self) -> Ints:
        """int64[n]: the process that wrote each point."""
        return np.repeat(np.array(self.numbers, np.int64), [len(part) for part in self.parts])

    @cached_property
    def records(self) -> Ints:
        """int64[n]: the number of each point's record in its epoch."""
        return self._column("records", np.int64)

    @cached_property
    def steps(self) -> Ints:
        """int64[n]."""
        return self.line.written_out() if self.line else self._column("steps", np.int64)

    @cached_property
    def values(self) -> Floats:
        """float64[n]."""
        return self._column("values", np.float64)

    @cached_property
    def line(self) -> Progression | None:
        """The steps, where one process wrote all of them and they are a progression: known without a point read."""
        if self.numbers[0] != self.numbers[-1]:
            return None
        return reduce(_joined, (part.line for part in self.parts))

    def at(self, other: Written) -> Floats:
        """The value here of the record of each of the other's points, float64[n]; NaN where that record has none."""
        out = np.full(len(other), np.nan)
        for segment in dict.fromkeys(other.numbers):
            mine, theirs = _part(self.segments, segment), _part(other.segments, segment)
            out[theirs] = _found(self.records[mine], self.values[mine], other.records[theirs])
        return out

    @cached_property
    def _ends(self) -> list[int]:
        ends: list[int] = np.cumsum([len(part) for part in self.parts]).tolist()
        return ends

    def _column(self, name: str, kind: type[np.generic]) -> NDArray[Any]:
        """Into one piece of memory, part by part: nothing is copied twice."""
        out, start = np.empty(len(self), kind), 0
        for part, end in zip(self.parts, self._ends, strict=True):
            out[start:end] = getattr(part, name)
            start = end
        return out


def _joined(before: Progression | None, after: Progression | None) -> Progression | None:
    return before.joined(after) if before and after else None


def _part(segments: Ints, segment: int) -> slice:
    return slice(*np.searchsorted(segments, [segment, segment + 1]).tolist())


def _found(records: Ints, values: Floats, wanted: Ints) -> Floats:
    """The values of the records that are wanted, both ascending; NaN where there is none."""
    # As where every record has every key: a million look-ups less.
    if np.array_equal(records, wanted):
        return values
    places = np.searchsorted(records, wanted)
    has = places < len(records)
    has[has] = records[places[has]] == wanted[has]
    out = np.full(len(wanted), np.nan)
    out[has] = values[places[has]]
    return out
