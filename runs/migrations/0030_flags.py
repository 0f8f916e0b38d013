"""Flags of runs that look as if they cheat; runs that have evaluations are due to be looked at."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


DUE = """
INSERT INTO runs_flagcheck (run_id, arrived, checked)
SELECT run_id, 1, 0 FROM runs_series WHERE key = 'reward/mean' UNION SELECT run_id, 1, 0 FROM runs_collapse
"""


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0029_engine_reports"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Flag",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("detector", models.CharField(max_length=30)),
                ("step", models.BigIntegerField()),
                ("first_step", models.BigIntegerField()),
                ("value", models.FloatField()),
                ("limit", models.FloatField()),
                ("before", models.FloatField(null=True)),
                ("n", models.BigIntegerField(null=True)),
                ("compared_with", models.CharField(blank=True, max_length=300)),
                ("key", models.CharField(blank=True, max_length=200)),
                ("examples", models.JSONField(default=list)),
                ("data_hash", models.CharField(max_length=64)),
                ("is_current", models.BooleanField(default=True)),
                ("detected_at", models.DateTimeField()),
                (
                    "run",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="flags", to="runs.run"),
                ),
            ],
        ),
        migrations.CreateModel(
            name="FlagCheck",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="flag_check",
                        serialize=False,
                        to="runs.run",
                    ),
                ),
                ("arrived", models.BigIntegerField(default=0)),
                ("checked", models.BigIntegerField(default=0)),
                ("step", models.BigIntegerField(null=True)),
                ("checked_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("checked__lt", models.F("arrived"))), fields=["run"], name="flag_check_due"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="FlagDismissal",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("data_hash", models.CharField(max_length=64)),
                ("step", models.BigIntegerField()),
                ("reason", models.TextField()),
                ("dismissed_at", models.DateTimeField(auto_now_add=True)),
                ("undone_at", models.DateTimeField(null=True)),
                (
                    "dismissed_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "flag",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="dismissals", to="runs.flag"
                    ),
                ),
                (
                    "undone_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="FlagThresholds",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("values", models.JSONField(default=dict)),
                ("changed_at", models.DateTimeField(auto_now=True)),
                (
                    "changed_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "experiment",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="flag_thresholds",
                        to="runs.experiment",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="flag",
            constraint=models.UniqueConstraint(fields=("run", "detector"), name="one_flag_of_a_run_by_a_detector"),
        ),
        migrations.AddConstraint(
            model_name="flagdismissal",
            constraint=models.UniqueConstraint(
                condition=models.Q(("undone_at__isnull", True)),
                fields=("flag", "data_hash"),
                name="one_dismissal_of_the_same_data",
            ),
        ),
        migrations.AddConstraint(
            model_name="flagthresholds",
            constraint=models.UniqueConstraint(
                models.Value(1),
                condition=models.Q(("experiment__isnull", True)),
                name="one_row_of_flag_thresholds_of_the_site",
            ),
        ),
        migrations.RunSQL(DUE, migrations.RunSQL.noop),
    ]
