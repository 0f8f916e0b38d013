"""What tables sort and ask by, kept beside the runs: the values of configs, the newest step, the time taken.

The database itself keeps what follows from one row alone, by triggers, so that it is true whoever writes. `last_step`
is left to the compaction of batches: a flush of points must not write to its run.
"""

import datetime

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# What a config holds, by dotted path. An index entry has little room: long values are cut.
FLATTEN = r"""
CREATE FUNCTION runs_knobs_of(config jsonb) RETURNS TABLE (key text, value jsonb)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
WITH RECURSIVE node (key, value, depth) AS (
    SELECT e.key, e.value, 1
    FROM jsonb_each(CASE jsonb_typeof(config) WHEN 'object' THEN config ELSE '{}' END) AS e
    WHERE strpos(e.key, '.') = 0
    UNION ALL
    SELECT node.key || '.' || e.key, e.value, depth + 1
    FROM node, jsonb_each(CASE jsonb_typeof(node.value) WHEN 'object' THEN node.value ELSE '{}' END) AS e
    WHERE strpos(e.key, '.') = 0 AND length(node.key) + length(e.key) < 200
)
SELECT node.key,
       CASE WHEN length(node.value::text) <= 200 THEN node.value ELSE to_jsonb(left(node.value #>> '{}', 200)) END
FROM node
WHERE node.value <> 'null' AND length(node.key) <= 200 AND (depth > 1 OR jsonb_typeof(node.value) <> 'object')
$$
"""
KEEP_KNOBS = """
CREATE FUNCTION runs_keep_knobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO runs_knob (run_id, key, value)
        SELECT made.id, k.key, k.value FROM made, runs_knobs_of(made.config) AS k;
    ELSIF TG_OP = 'UPDATE' THEN
        DELETE FROM runs_knob WHERE run_id = NEW.id;
        INSERT INTO runs_knob (run_id, key, value) SELECT NEW.id, k.key, k.value FROM runs_knobs_of(NEW.config) AS k;
    ELSE
        DELETE FROM runs_knob WHERE run_id IN (SELECT id FROM gone);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER run_knobs_made AFTER INSERT ON runs_run
    REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION runs_keep_knobs();
CREATE TRIGGER run_knobs_changed AFTER UPDATE OF config ON runs_run
    FOR EACH ROW WHEN (OLD.config IS DISTINCT FROM NEW.config) EXECUTE FUNCTION runs_keep_knobs();
CREATE TRIGGER run_knobs_gone AFTER DELETE ON runs_run
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION runs_keep_knobs();
"""
# By what changed, not by a new sum: two attempts of a run may end at once.
KEEP_TIME = """
CREATE FUNCTION runs_keep_time() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE runs_run SET time_taken = time_taken + took
        FROM (SELECT run_id, sum(ended_at - started_at) AS took FROM made GROUP BY run_id) AS t
        WHERE runs_run.id = run_id AND took <> interval '0';
    ELSIF TG_OP = 'UPDATE' THEN
        UPDATE runs_run SET time_taken = time_taken + COALESCE(NEW.ended_at - NEW.started_at, interval '0')
                                                    - COALESCE(OLD.ended_at - OLD.started_at, interval '0')
        WHERE id = NEW.run_id;
    ELSE
        UPDATE runs_run SET time_taken = time_taken - took
        FROM (SELECT run_id, sum(ended_at - started_at) AS took FROM gone GROUP BY run_id) AS t
        WHERE runs_run.id = run_id AND took <> interval '0';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER run_time_begun AFTER INSERT ON runs_attempt
    REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION runs_keep_time();
CREATE TRIGGER run_time_changed AFTER UPDATE OF started_at, ended_at ON runs_attempt
    FOR EACH ROW WHEN (OLD.ended_at - OLD.started_at IS DISTINCT FROM NEW.ended_at - NEW.started_at)
    EXECUTE FUNCTION runs_keep_time();
CREATE TRIGGER run_time_gone AFTER DELETE ON runs_attempt
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION runs_keep_time();
"""
# What is not kept while a run goes on. They are asked for few of the runs that a table sorts: the planner, who cannot
# know, is told that they cost nothing.
GOING = """
CREATE FUNCTION runs_newest_step(run bigint) RETURNS bigint LANGUAGE plpgsql STABLE PARALLEL SAFE COST 1 AS $$
BEGIN
    RETURN (SELECT COALESCE(max(last_step), 0) FROM runs_series WHERE run_id = run);
END $$;
CREATE FUNCTION runs_time_going(run bigint) RETURNS interval LANGUAGE plpgsql STABLE PARALLEL SAFE COST 1 AS $$
BEGIN
    RETURN (SELECT COALESCE(sum(statement_timestamp() - started_at), interval '0') FROM runs_attempt
            WHERE run_id = run AND started_at IS NOT NULL AND ended_at IS NULL);
END $$;
"""
# How many runs share a value hangs on the key: without, a knob that all runs share is taken for a rare one.
STATISTICS = """
CREATE STATISTICS runs_knob_values (mcv) ON key, value FROM runs_knob;
ALTER STATISTICS runs_knob_values SET STATISTICS 1000;
"""
FILL = """
INSERT INTO runs_knob (run_id, key, value) SELECT r.id, k.key, k.value FROM runs_run AS r, runs_knobs_of(r.config) AS k;
UPDATE runs_run SET last_step = s.newest, time_taken = COALESCE(t.took, interval '0')
FROM runs_run AS r
     LEFT JOIN (SELECT run_id, max(last_step) AS newest FROM runs_series GROUP BY run_id) AS s ON s.run_id = r.id
     LEFT JOIN (SELECT run_id, sum(ended_at - started_at) AS took FROM runs_attempt GROUP BY run_id) AS t
            ON t.run_id = r.id
WHERE runs_run.id = r.id AND (s.newest <> 0 OR t.took <> interval '0');
"""


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0010_sweeps"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Knob",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run", "key", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="knobs",
                        to="runs.run",
                    ),
                ),
                ("key", models.TextField()),
                ("value", models.JSONField()),
            ],
        ),
        migrations.RemoveIndex(model_name="run", name="runs_run_experim_b21b6f_idx"),
        migrations.RemoveIndex(model_name="run", name="run_newest_first"),
        migrations.AlterField(
            model_name="run",
            name="experiment",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="runs",
                to="runs.experiment",
            ),
        ),
        migrations.AlterField(
            model_name="series",
            name="run",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="series", to="runs.run"
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="last_step",
            field=models.BigIntegerField(db_default=0, default=0, editable=False),
        ),
        migrations.AddField(
            model_name="run",
            name="time_taken",
            field=models.DurationField(
                db_default=models.Value(datetime.timedelta(0)), default=datetime.timedelta, editable=False
            ),
        ),
        migrations.RunSQL(FLATTEN, "DROP FUNCTION runs_knobs_of"),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.RunSQL(KEEP_KNOBS, "DROP FUNCTION runs_keep_knobs CASCADE"),
        migrations.RunSQL(KEEP_TIME, "DROP FUNCTION runs_keep_time CASCADE"),
        migrations.RunSQL(GOING, "DROP FUNCTION runs_newest_step; DROP FUNCTION runs_time_going"),
        migrations.RunSQL(STATISTICS, "DROP STATISTICS runs_knob_values"),
        migrations.AddIndex(
            model_name="knob",
            index=models.Index(fields=["key", "value", "run"], name="knob_by_value"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("deleted_at", None)),
                fields=["experiment", "state"],
                include=("archived_at", "id"),
                name="run_by_state",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                fields=["experiment", "-id"],
                include=(
                    "archived_at",
                    "deleted_at",
                    "state",
                    "method",
                    "preset",
                    "seed",
                    "name",
                    "created_by",
                    "recipe",
                    "last_step",
                    "time_taken",
                    "created_at",
                ),
                name="run_newest_first",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(condition=models.Q(("tags", []), _negated=True), fields=["id"], name="run_tagged"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(condition=models.Q(("note", ""), _negated=True), fields=["id"], name="run_noted"),
        ),
    ]
