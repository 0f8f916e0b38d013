"""Store metric records as one packed batch per flush, and update the summaries that tables read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from runs import metrics
from runs.metrics import Block, Floats
from runs.models import Attempt, Batch, mark_flag_checks_due
from workers.analysis.keys import REWARD

EVALUATED = REWARD
"""Key that only evaluations write: the detectors of flags then look at the run."""

# Keys are sorted, so that two writers never lock the same rows in opposite orders.
SUMMARISE = """
INSERT INTO runs_series (run_id, key, points, last_step, last_value, min_value, max_value)
SELECT {run}, summary.* FROM {source} unnest(
    %(keys)s::text[], %(points)s::bigint[], %(steps)s::bigint[], %(lasts)s::float8[], %(lows)s::float8[],
    %(highs)s::float8[]) AS summary
ON CONFLICT (run_id, key) DO UPDATE SET
    points = runs_series.points + EXCLUDED.points,
    last_step = CASE WHEN {newest} THEN EXCLUDED.last_step ELSE runs_series.last_step END,
    last_value = CASE WHEN {newest} THEN EXCLUDED.last_value ELSE runs_series.last_value END,
    min_value = LEAST(runs_series.min_value, EXCLUDED.min_value),
    max_value = GREATEST(runs_series.max_value, EXCLUDED.max_value)
"""
SUMMARISE_ONE = SUMMARISE.format(run="%(run)s", source="", newest="%(newest)s")

# The run's newest batch, and whether a later process of the run has written already: then new points are late, and not
# the last ones.
RUN_POSITION = """
SELECT GREATEST((SELECT max(id) FROM runs_batch WHERE run_id = %(run)s),
                (SELECT max(cursor) FROM runs_chunk WHERE run_id = %(run)s), 0),
       EXISTS (SELECT FROM runs_recordfile f JOIN runs_attempt a ON a.id = f.attempt_id
               WHERE a.run_id = %(run)s AND (a.n, f.epoch) > (%(n)s, %(epoch)s) AND f.next_seq > 0)
"""
SKIPPED_IDS = 10_000
SKIP_IDS = """
SELECT setval(sequence::regclass, nextval(sequence::regclass) + %s)
FROM pg_get_serial_sequence('runs_batch', 'id') AS sequence
"""


def skip_batch_ids() -> None:
    """Leave out more ids of batches than a crash of PostgreSQL can have lost, so that none is given twice.

    Ids of commits that were not flushed come back after a crash, and pages that saw the first batch of an id would
    ignore the second.
    """
    with connection.cursor() as sql:
        sql.execute(SKIP_IDS, [SKIPPED_IDS])


@dataclass(frozen=True)
class StoredBatch:
    """A batch that was stored. `previous` is the run's batch before it, or 0, so that a reader notices a missed one."""

    cursor: int
    previous: int
    points: Block
    data: bytes


def save_points(attempt: Attempt, epoch: int, seqs: tuple[int, int], points: Block) -> StoredBatch:
    """Store the points of the records from the first to the last of `seqs`. The caller holds the run's lock."""
    previous, is_late = _run_position(attempt, epoch)
    data = metrics.pack(points)
    batch = Batch.objects.create(
        run_id=attempt.run_id,
        attempt=attempt,
        epoch=epoch,
        first_seq=seqs[0],
        last_seq=seqs[1],
        keys=list(points.keys),
        data=data,
    )
    if points.cells:
        _summarise(attempt.run_id, points, newest=not is_late)
    if EVALUATED in points.keys:
        mark_flag_checks_due([attempt.run_id])
    return StoredBatch(batch.pk, previous, points, data)


def _run_position(attempt: Attempt, epoch: int) -> tuple[int, bool]:
    with connection.cursor() as sql:
        sql.execute(RUN_POSITION, {"run": attempt.run_id, "n": attempt.n, "epoch": epoch})
        previous, is_late = sql.fetchone()
    return previous, is_late


def summary(points: Block) -> dict[str, Any]:
    """Return the parameters of SUMMARISE by key: keys, points, and the rest as PostgreSQL's array literals."""
    starts, last = points.cuts[:-1], points.cuts[1:] - 1
    return {
        "keys": list(points.keys),
        "points": _literal(np.diff(points.cuts)),
        "steps": _literal(points.steps[points.rows[last]]),
        "lasts": _literal(points.values[last]),
        "lows": _nullable_literal(np.fmin.reduceat(points.values, starts)),
        "highs": _nullable_literal(np.fmax.reduceat(points.values, starts)),
    }


def _summarise(run_id: int, points: Block, newest: bool) -> None:
    with connection.cursor() as sql:
        sql.execute(SUMMARISE_ONE, summary(points) | {"run": run_id, "newest": newest})


def _literal(values: NDArray[Any]) -> str:
    return f"{{{','.join(map(repr, values.tolist()))}}}"


def _nullable_literal(values: Floats) -> str:
    """Return an array literal with NULL for NaN (every value was NaN).

    LEAST and GREATEST ignore NULL, but treat NaN as the greatest number.
    """
    return _literal(values).replace("nan", "NULL")
