"""What answers have in common; those that are here already are due to be measured."""

import django.db.models.deletion
from django.db import migrations, models

DUE = """
INSERT INTO runs_collapse (run_id, split, step, arrived, measured)
SELECT run_id, split, step, count(*), 0 FROM runs_response GROUP BY run_id, split, step
"""


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0018_answers_beside_each_other"),
    ]

    operations = [
        migrations.CreateModel(
            name="Collapse",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("split", models.CharField(max_length=20)),
                ("step", models.BigIntegerField()),
                ("arrived", models.BigIntegerField(default=0)),
                ("measured", models.BigIntegerField(default=0)),
                ("measures", models.JSONField(null=True)),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="collapses",
                        to="runs.run",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("measured__lt", models.F("arrived"))), fields=["id"], name="collapse_due"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("run", "split", "step"), name="collapse_once"),
                ],
            },
        ),
        migrations.RunSQL(DUE, migrations.RunSQL.noop),
    ]
