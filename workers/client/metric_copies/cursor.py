"""Position up to which a logger has copied the metrics of an attempt, stored in `copied.json` in its folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from workers.records import Line, Metric, read, records_path

FILE = "copied.json"


@dataclass
class Cursor:
    """The position up to which metrics are copied: a byte of an epoch's file, and the number of metrics before it."""

    epoch: int = 0
    offset: int = 0
    count: int = 0

    @classmethod
    def load(cls, folder: Path) -> Cursor:
        """Return the saved cursor, or the beginning if there is none. Raise OSError, ValueError."""
        try:
            text = (folder / FILE).read_text(encoding="utf-8")
        except FileNotFoundError:
            return cls()
        try:
            return cls(**json.loads(text))
        except TypeError as error:
            raise ValueError(f"{folder / FILE} holds no position: {error}") from error

    def save(self, folder: Path) -> None:
        """Replace the saved cursor. Raise OSError."""
        partial = folder / f".{FILE}"
        partial.write_text(json.dumps(asdict(self)), encoding="utf-8")
        partial.replace(folder / FILE)

    def next_metrics(self, directory: Path, last_epoch: int) -> list[Line] | None:
        """Return the metrics of the next piece, and move behind it; None if nothing is left up to `last_epoch`.

        An epoch before the last one is complete: its file does not grow, and an incomplete last line is no record.
        """
        piece = read(records_path(directory, self.epoch), self.offset)
        if piece.next_offset != self.offset:
            self.offset = piece.next_offset
            metrics = [line for line in piece.lines if isinstance(line.record, Metric)]
            self.count += len(metrics)
            return metrics
        if self.epoch >= last_epoch:
            return None
        self.epoch, self.offset = self.epoch + 1, 0
        return []


def remaining_metrics(directory: Path, folder: Path, last_epoch: int) -> int:
    """Return the number of metrics that are not copied yet. Raise OSError, ValueError."""
    cursor = Cursor.load(folder)
    return sum(len(lines) for lines in _pieces(cursor, directory, last_epoch))


def _pieces(cursor: Cursor, directory: Path, last_epoch: int) -> Iterator[list[Line]]:
    while (lines := cursor.next_metrics(directory, last_epoch)) is not None:
        yield lines
