"""What answers tell by themselves, kept beside them by the database; scores given afterwards; search by trigrams."""

import django.contrib.postgres.indexes
import django.db.models.deletion
from django.contrib.postgres.operations import TrigramExtension
from django.db import ProgrammingError, migrations, models
from django.db.utils import DatabaseError

SUPERSEDE = """
UPDATE runs_response SET is_superseded = true FROM (
    SELECT r.id, row_number() OVER (
        PARTITION BY r.run_id, split, step, prompt_id, sample ORDER BY a.n DESC, epoch DESC, seq DESC
    ) AS place
    FROM runs_response r JOIN runs_attempt a ON a.id = r.attempt_id
) AS ranked
WHERE ranked.id = runs_response.id AND place > 1
"""


class Trigrams(TrigramExtension):
    """As Django's, with a sentence for a database role that may not make extensions."""

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        connection = schema_editor.connection
        try:
            super().database_forwards(app_label, schema_editor, from_state, to_state)
        except DatabaseError as error:
            role, database = connection.settings_dict["USER"], connection.settings_dict["NAME"]
            raise ProgrammingError(
                f"Answers are searched with the extension pg_trgm, which the role {role} could not make "
                f"({str(error).strip().splitlines()[0]}). Let an administrator of the database server run "
                f"CREATE EXTENSION pg_trgm; in the database {database}, then migrate again."
            ) from error

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        """It stays: somebody else may have made it, and use it."""


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0017_cluster_tests"),
    ]

    operations = [
        Trigrams(),
        migrations.CreateModel(
            name="Score",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("scorer", models.CharField(max_length=100)),
                ("key", models.CharField(max_length=20)),
                ("value", models.FloatField()),
                ("at", models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.AddField(
            model_name="prompt",
            name="row",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Func(
                    models.F("name"),
                    template="(CASE WHEN %(expressions)s ~ '^[0-9]{1,18}$' THEN %(expressions)s::bigint END)",
                ),
                output_field=models.BigIntegerField(),
            ),
        ),
        migrations.AddField(
            model_name="prompt",
            name="text_key",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Func(
                    models.F("text"),
                    template="hashtextextended(lower(regexp_replace(btrim(%(expressions)s, E' \\t\\r\\n'), '\\s+', ' ', 'g')), 0)",
                ),
                output_field=models.BigIntegerField(),
            ),
        ),
        migrations.AddField(
            model_name="response",
            name="cost",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Func(models.F("parts"), template="((%(expressions)s ->> 'cost')::double precision)"),
                output_field=models.FloatField(),
            ),
        ),
        migrations.AddField(
            model_name="response",
            name="is_leaking",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Func(
                    models.F("text"),
                    template="(%(expressions)s ~ '(^|[^A-Za-z])(USER|ASSISTANT|HUMAN|SYSTEM) ?:|<\\|(im_start|im_end|user|assistant|system)\\|>|(^|\\n)\\s*(User|Assistant|Human|System):')",
                ),
                output_field=models.BooleanField(),
            ),
        ),
        migrations.AddField(
            model_name="response",
            name="is_refusal",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Func(
                    models.F("text"),
                    template="(%(expressions)s ~* '^\\W*((i.m|i am) (so |very |really )?sorry|sorry,|i (can not|cannot|can.t|won.t|will not) |(i.m|i am) (unable|not able) to|i apologi[sz]e|as an ai|unfortunately, i )')",
                ),
                output_field=models.BooleanField(),
            ),
        ),
        migrations.AddField(
            model_name="response",
            name="is_superseded",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="response",
            name="is_truncated",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Func(
                    models.F("text"),
                    template="(CASE WHEN parts ? 'clipped' THEN (parts ->> 'clipped')::double precision > 0 ELSE tokens = 0 AND CASE WHEN %(expressions)s !~ '\\S' THEN 0 ELSE array_length(regexp_split_to_array(btrim(%(expressions)s, E' \\t\\r\\n'), '\\s+'), 1) END >= 20 AND %(expressions)s !~ '[].!?…:;)}>\"”''’»*`]\\s*$' END)",
                ),
                output_field=models.BooleanField(),
            ),
        ),
        migrations.AddField(
            model_name="response",
            name="text_key",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Func(
                    models.F("text"),
                    template="hashtextextended(lower(regexp_replace(btrim(%(expressions)s, E' \\t\\r\\n'), '\\s+', ' ', 'g')), 0)",
                ),
                output_field=models.BigIntegerField(),
            ),
        ),
        migrations.AddField(
            model_name="response",
            name="words",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Func(
                    models.F("text"),
                    template="(CASE WHEN parts ? 'no_text' THEN NULL ELSE CASE WHEN %(expressions)s !~ '\\S' THEN 0 ELSE array_length(regexp_split_to_array(btrim(%(expressions)s, E' \\t\\r\\n'), '\\s+'), 1) END END)",
                ),
                output_field=models.IntegerField(),
            ),
        ),
        migrations.RemoveIndex(model_name="response", name="runs_respon_run_id_8bafef_idx"),
        migrations.AddIndex(
            model_name="response",
            index=models.Index(
                fields=["run", "split", "step", "prompt", "sample"],
                include=[
                    "id",
                    "reward",
                    "cost",
                    "words",
                    "text_key",
                    "is_superseded",
                    "is_truncated",
                    "is_leaking",
                    "is_refusal",
                ],
                name="response_by_step",
            ),
        ),
        migrations.AddIndex(
            model_name="response",
            index=django.contrib.postgres.indexes.GinIndex(
                fields=["text"], name="response_by_trigram", opclasses=["gin_trgm_ops"]
            ),
        ),
        migrations.AddField(
            model_name="score",
            name="response",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="scores", to="runs.response"
            ),
        ),
        migrations.AddConstraint(
            model_name="score",
            constraint=models.UniqueConstraint(fields=("scorer", "key", "response"), name="score_once"),
        ),
        migrations.RunSQL(SUPERSEDE, migrations.RunSQL.noop),
    ]
