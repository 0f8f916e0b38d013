"""Set the gold measure of responses that were stored before it existed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from django.db import connections

from runs.ingest.response_tasks import TaskNames
from workers.analysis.right import right_of

BATCH = 500
"""Responses per statement. Their texts are in memory at once."""
UNKNOWN = """
SELECT r.id, r.run_id, r.parts, r.text, p.text, p.target, p.categories
FROM runs_response r JOIN runs_prompt p ON p.id = r.prompt_id
WHERE r.id > %s AND r.is_right IS NULL AND (p.target ~ '[^[:space:]]' OR r.parts ?| ARRAY['right', 'contains'])
ORDER BY r.id LIMIT %s
"""
SET = """
UPDATE runs_response SET is_right = known.verdict
FROM unnest(%s::bigint[], %s::boolean[]) AS known (id, verdict) WHERE runs_response.id = known.id
"""


def fill_right(alias: str = "default", report: Callable[[int], None] = lambda done: None) -> int:
    """Set `is_right` of stored responses that lack it, as ingest sets it, and return the number that got a verdict.

    Works in batches, each a transaction of its own outside one: an interrupted call continues where it stopped. Nothing
    else of a response changes. `report` gets the number so far after each batch.
    """
    last, done = 0, 0
    tasks: dict[int, TaskNames] = {}
    with connections[alias].cursor() as cursor:
        while True:
            cursor.execute(UNKNOWN, [last, BATCH])
            rows = cursor.fetchall()
            if not rows:
                return done
            _add_tasks(cursor, tasks, {row[1] for row in rows})
            known = [(row[0], verdict) for row in rows if (verdict := _verdict(tasks[row[1]], *row[2:])) is not None]
            if known:
                cursor.execute(SET, [list(column) for column in zip(*known, strict=True)])
            last, done = rows[-1][0], done + len(known)
            report(done)


def _add_tasks(cursor: Any, tasks: dict[int, TaskNames], runs: Iterable[int]) -> None:
    missing = [run for run in runs if run not in tasks]
    if missing:
        cursor.execute("SELECT id, config FROM runs_run WHERE id = ANY(%s)", [missing])
        tasks |= {run: TaskNames(_decoded(config)) for run, config in cursor.fetchall()}


def _verdict(tasks: TaskNames, parts: Any, text: str, question: str, target: str, categories: list[str]) -> bool | None:
    return right_of(tasks.of_prompt(categories), _decoded(parts), text, target, question)


def _decoded(value: Any) -> Any:
    """Return a JSON column's value. Django's cursors return it as text."""
    return json.loads(value) if isinstance(value, str) else value
