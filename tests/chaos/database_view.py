"""What the database says, read around all of esweb's own reading."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from esweb.embedded import database_url

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
