"""The rows of the database, read without esweb's own code."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from esweb.embedded import database_url
from tests.flows.pushed_points import EXPERIMENT_NAME

Row = dict[str, Any]
# Runs that writers of a test push to were not launched, and have no files.
LAUNCHED = f"JOIN runs_experiment e ON e.id = r.experiment_id AND e.name <> '{EXPERIMENT_NAME}'"
RUNS = f"SELECT r.id, r.uid, r.name, r.state, r.config FROM runs_run r {LAUNCHED} ORDER BY r.id"  # noqa: S608  (ours)
ATTEMPTS = f"""
SELECT a.*, r.uid, r.name FROM runs_attempt a JOIN runs_run r ON r.id = a.run_id {LAUNCHED} ORDER BY a.run_id, a.n
"""  # noqa: S608  (ours)
SHORT_RESTART_DELAYS = {"restart": 1.0, "restart_longest": 4.0}


class DatabaseView:
    """One connection to a site's PostgreSQL, closed at the end of the block."""

    def __init__(self, data: Path) -> None:
        self.connection = psycopg.connect(database_url(data), autocommit=True, row_factory=dict_row)

    def __enter__(self) -> DatabaseView:
        return self

    def __exit__(self, *error: object) -> None:
        self.connection.close()

    def runs(self) -> list[Row]:
        """Return every launched run, oldest first."""
        return self._rows(RUNS)

    def attempts(self) -> list[Row]:
        """Return every attempt of launched runs with its run's uid, sorted by run and number."""
        return self._rows(ATTEMPTS)

    def files(self, attempt: int) -> dict[int, tuple[int, int]]:
        """Return epoch -> (bytes read, next seq)."""
        rows = self._rows('SELECT epoch, "offset", next_seq FROM runs_recordfile WHERE attempt_id = %s', attempt)
        return {row["epoch"]: (row["offset"], row["next_seq"]) for row in rows}

    def summary(self) -> str:
        """Return one line with the counts of attempts by state, runs, points, responses and checkpoints."""
        states = Counter(row["state"] for row in self.attempts())
        (rows,) = self._rows(
            "SELECT (SELECT count(*) FROM runs_run) AS runs, (SELECT sum(points) FROM runs_series) AS points,"
            " (SELECT count(*) FROM runs_response) AS responses, (SELECT count(*) FROM runs_checkpoint) AS checkpoints"
        )
        counts = [f"{count} {name}" for name, count in (*rows.items(), *sorted(states.items()))]
        return f"{states.total()} attempts: {', '.join(counts)}"

    def shorten_restart_delays(self) -> None:
        """Set the delay before a restart to one second, instead of a minute."""
        self._rows('UPDATE runs_cluster SET config = \'{"waits": {"restart": 1, "restart_longest": 4}}\' RETURNING id')

    def points_by_key(self, run: int) -> dict[str, int]:
        """Return key -> number of points that tables show."""
        rows = self._rows("SELECT key, points FROM runs_series WHERE run_id = %s", run)
        return {row["key"]: row["points"] for row in rows}

    def _rows(self, query: str, *parameters: int) -> list[Row]:
        return self.connection.execute(query, parameters).fetchall()
