"""Measure bytes on disk for a compacted point: all tables that grow with points, with their indexes and TOAST.

    python -m benchmarks.storage

A million points of each kind, ten keys to a record, pushed in flushes of a thousand points, compacted by the job and
vacuumed, as autovacuum does in time. A float64 alone has 8 bytes.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from benchmarks import results, servers
from benchmarks.points import KEYS, START

if TYPE_CHECKING:
    from runs.metrics import Block

GOAL = 12.0
RECORDS, FLUSH = 100_000, 100
TABLES = ("runs_batch", "runs_chunk", "runs_series", "runs_recordfile")


def kinds() -> dict[str, NDArray[np.float64]]:
    """float64 [records, keys] of each kind."""
    noise = np.random.default_rng(0).standard_normal((RECORDS, len(KEYS)))
    walk = 2.0 + np.cumsum(noise, axis=0) / 100
    return {
        "noise in float64": noise,
        "losses in float32": walk.astype(np.float32).astype(np.float64),
        "counters": np.cumsum(np.full((RECORDS, len(KEYS)), 512.0), axis=0),
    }


def keep(writer: servers.Writer, values: NDArray[np.float64]) -> None:
    """Pushes the values flush by flush, then compacts them."""
    from runs import ingest
    from runs.ingest import Columns
    from runs.models import Attempt

    attempt = Attempt.objects.select_related("run").get(key=writer.key)
    for first in range(0, RECORDS, FLUSH):
        ingest.push(attempt, 0, Columns(first, block(values[first : first + FLUSH], first)))
    while ingest.compact(writer.run_id):
        pass


def block(values: NDArray[np.float64], first: int) -> Block:
    """Records as the server holds them between socket and database: a second apart, in which the clock trembles."""
    from runs.metrics import Block

    count = len(values)
    steps = np.arange(first, first + count)
    trembling = np.random.default_rng(first).uniform(0, 0.01, count)
    return Block(
        KEYS, steps, START + steps + trembling, np.arange(len(KEYS) + 1) * count,
        np.tile(np.arange(count, dtype=np.uint32), len(KEYS)), values.T.reshape(-1),
    )  # fmt: skip


def size() -> int:
    """Bytes of all tables of points, vacuumed."""
    from django.db import connection

    with connection.cursor() as sql:
        sql.execute(f"VACUUM {', '.join(TABLES)}")
        sql.execute("SELECT sum(pg_total_relation_size(name)) FROM unnest(%s::regclass[]) AS name", [list(TABLES)])
        return int(sql.fetchone()[0])


def main() -> int:
    """Measure, record, and return the exit code."""
    with servers.site() as site:
        before = size()
        for name, values in kinds().items():
            keep(site.writer(), values)
            after = size()
            results.at_most(f"{name}, bytes a point", (after - before) / values.size, GOAL, "bytes")
            before = after
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
