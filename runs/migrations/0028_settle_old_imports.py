"""Runs that earlier versions imported: those that lack answers are partial, what nothing says is unknown."""

from django.db import migrations

PARTIAL = """
WITH seeds AS (
    SELECT i.run_id, i.sha256,
        (SELECT count(*) FROM runs_response r WHERE r.run_id = i.run_id) AS answers,
        (SELECT s.last_value FROM runs_series s WHERE s.run_id = i.run_id AND s.key = 'eval/total_samples') AS claimed
    FROM runs_import i WHERE i.kind = 'evaluation'
), lacking AS (
    SELECT run_id, answers, expected FROM (
        SELECT run_id, answers,
            greatest(max(answers) OVER (PARTITION BY sha256),
                CASE WHEN claimed BETWEEN 0 AND 1e15 THEN claimed ELSE 0 END)::bigint AS expected
        FROM seeds
    ) AS known
    WHERE answers BETWEEN 1 AND expected - 1
), runs AS (
    UPDATE runs_run SET state = 'partial' FROM lacking
    WHERE runs_run.id = lacking.run_id AND state = 'succeeded' RETURNING runs_run.id
)
UPDATE runs_attempt SET state = 'partial', reason = answers || ' of ' || expected || ' answers are in the file'
FROM lacking JOIN runs ON runs.id = lacking.run_id WHERE runs_attempt.run_id = lacking.run_id
"""
"""A seed has as many answers as it says (`total_samples`), and as the other seeds of its file have."""
ENDED_SOMEHOW = """
WITH runs AS (
    UPDATE runs_run SET state = 'unknown' FROM runs_import i
    WHERE i.run_id = runs_run.id AND i.kind IN ('trainer state', 'TensorBoard events') AND state = 'lost'
    RETURNING runs_run.id
)
UPDATE runs_attempt SET state = 'unknown' FROM runs WHERE run_id = runs.id AND state = 'lost'
"""
"""These files do not say how a run ended, and no job was lost."""
UNKNOWN = """
UPDATE runs_run SET method = 'unknown', config = jsonb_set(config, '{method}', '"unknown"')
WHERE method = 'other' AND EXISTS (SELECT FROM runs_import WHERE run_id = runs_run.id)
"""


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0027_parents_and_unknown_ends"),
    ]

    operations = [
        migrations.RunSQL(PARTIAL, migrations.RunSQL.noop),
        migrations.RunSQL(ENDED_SOMEHOW, migrations.RunSQL.noop),
        migrations.RunSQL(UNKNOWN, migrations.RunSQL.noop),
    ]
