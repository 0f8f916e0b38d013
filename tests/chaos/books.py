"""What the database says, read around all of esweb's own reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from esweb.embedded import database_url
from runs import series
from runs.series.chunks import TIMES, Column, unpack_chunk

Row = dict[str, Any]
RESTARTS_SOON = {"restart": 1.0, "restart_longest": 4.0}


class Books:
    """One connection to a house's PostgreSQL, for as long as the block lasts."""

    def __init__(self, data: Path) -> None:
        self.connection = psycopg.connect(database_url(data), autocommit=True, row_factory=dict_row)

    def __enter__(self) -> Books:
        return self

    def __exit__(self, *error: object) -> None:
        self.connection.close()

    def runs(self) -> list[Row]:
        """Every run, oldest first."""
        return self._rows("SELECT id, uid, name, state, config FROM runs_run ORDER BY id")

    def attempts(self) -> list[Row]:
        """Every attempt with its run's uid, those of a run in order."""
        return self._rows(
            "SELECT a.*, r.uid, r.name FROM runs_attempt a JOIN runs_run r ON r.id = a.run_id ORDER BY a.run_id, a.n"
        )

    def files(self, attempt: int) -> dict[int, tuple[int, int]]:
        """Epoch -> (bytes read, next seq)."""
        rows = self._rows('SELECT epoch, "offset", next_seq FROM runs_recordfile WHERE attempt_id = %s', attempt)
        return {row["epoch"]: (row["offset"], row["next_seq"]) for row in rows}

    def points(self, attempt: int, epoch: int) -> Counter[tuple[int, str, float, str]]:
        """(step, key, time, value), as often as it is kept. Values as text: NaN does not equal itself."""
        # In one question: what is loose now may be in a chunk a moment later.
        rows = self._rows(
            "SELECT NULL AS key, keys, data FROM runs_batch WHERE attempt_id = %s AND epoch = %s"
            " UNION ALL SELECT key, NULL, data FROM runs_chunk WHERE attempt_id = %s AND epoch = %s",
            *(attempt, epoch) * 2,
        )
        loose = [series.unpack(row["keys"], row["data"]) for row in rows if row["key"] is None]
        chunks = [(row["key"], unpack_chunk(row["data"])) for row in rows if row["key"] is not None]
        return Counter([*(point for block in loose for point in _points(block)), *_compacted(chunks)])

    def kept(self, table: str, columns: str, attempt: int, epoch: int) -> list[tuple[Any, ...]]:
        """Those columns of all rows of one epoch, in order of seq."""
        rows = self._rows(
            f"SELECT {columns} FROM {table} WHERE attempt_id = %s AND epoch = %s ORDER BY seq",  # noqa: S608  (our own words)
            attempt,
            epoch,
        )
        return [tuple(row.values()) for row in rows]

    def story(self) -> str:
        """In a line, how much there was to lose."""
        ends = Counter(row["state"] for row in self.attempts())
        (rows,) = self._rows(
            "SELECT (SELECT count(*) FROM runs_run) AS runs, (SELECT sum(points) FROM runs_series) AS points,"
            " (SELECT count(*) FROM runs_response) AS responses, (SELECT count(*) FROM runs_checkpoint) AS checkpoints"
        )
        counts = [f"{count} {name}" for name, count in (*rows.items(), *sorted(ends.items()))]
        return f"{ends.total()} attempts: {', '.join(counts)}"

    def hasten_restarts(self) -> None:
        """A run is started again after a second, where a minute would be patient."""
        self._rows('UPDATE runs_cluster SET config = \'{"waits": {"restart": 1, "restart_longest": 4}}\' RETURNING id')

    def summaries(self, run: int) -> dict[str, int]:
        """Key -> number of points that tables show."""
        rows = self._rows("SELECT key, points FROM runs_series WHERE run_id = %s", run)
        return {row["key"]: row["points"] for row in rows}

    def _rows(self, query: str, *parameters: int) -> list[Row]:
        return self.connection.execute(query, parameters).fetchall()


def _points(block: series.Block) -> Iterator[tuple[int, str, float, str]]:
    for key in block.keys:
        for row, value in zip(*block.column(key), strict=True):
            yield int(block.steps[row]), key, float(block.t[row]), repr(float(value))


def _compacted(chunks: Sequence[tuple[str, Column]]) -> Iterator[tuple[int, str, float, str]]:
    """The points of all chunks of an epoch. The times of its records are a key of their own."""
    of_times = [zip(points.records, points.values, strict=True) for key, points in chunks if key == TIMES]
    times = {int(record): float(t) for column in of_times for record, t in column}
    for key, points in chunks:
        if key != TIMES:
            for record, step, value in zip(points.records, points.steps, points.values, strict=True):
                yield int(step), key, times[int(record)], repr(float(value))
