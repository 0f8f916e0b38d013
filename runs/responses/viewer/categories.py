"""Categories of the columns' prompts, as data sets name them."""

from __future__ import annotations

from typing import Any

from django.db import connection

from runs.responses.viewer.columns import SPLIT, Columns

COUNT_SQL = """
SELECT kind, count(*) FROM (
    SELECT DISTINCT prompt_id FROM ({asked}) AS answers
) AS asked JOIN runs_prompt p ON p.id = prompt_id, unnest(p.categories) AS kind
GROUP BY 1 ORDER BY 2 DESC, 1
"""
PROMPTS_SQL = "SELECT prompt_id FROM runs_response WHERE run_id = %s AND split = %s AND step = %s AND NOT is_superseded"


def categories(columns: Columns) -> dict[str, int]:
    """Return category -> number of the columns' prompts that have it, the most frequent first. Categories overlap. One
    query, none without columns."""
    if not columns.all:
        return {}
    values: list[Any] = [value for column in columns.all for value in (column.run.pk, SPLIT, column.step)]
    with connection.cursor() as cursor:
        cursor.execute(COUNT_SQL.format(asked=" UNION ALL ".join([PROMPTS_SQL] * len(columns.all))), values)
        return dict(cursor.fetchall())
