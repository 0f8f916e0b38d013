"""What the prompts of the columns are about: their categories, as data sets name them."""

from __future__ import annotations

from typing import Any

from django.db import connection

from runs.responses.viewer.columns import SPLIT, Columns

COUNTED = """
SELECT kind, count(*) FROM (
    SELECT DISTINCT prompt_id FROM ({asked}) AS answers
) AS asked JOIN runs_prompt p ON p.id = prompt_id, unnest(p.categories) AS kind
GROUP BY 1 ORDER BY 2 DESC, 1
"""
ASKED = "SELECT prompt_id FROM runs_response WHERE run_id = %s AND split = %s AND step = %s AND NOT is_superseded"


def categories(columns: Columns) -> dict[str, int]:
    """category -> how many prompts of the columns have it, the most first. They overlap. One query, none without
    columns."""
    if not columns.all:
        return {}
    values: list[Any] = [value for one in columns.all for value in (one.run.pk, SPLIT, one.step)]
    with connection.cursor() as cursor:
        cursor.execute(COUNTED.format(asked=" UNION ALL ".join([ASKED] * len(columns.all))), values)
        return dict(cursor.fetchall())
