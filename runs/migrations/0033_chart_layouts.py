"""Layouts of the charts of pages, one for each user and kind of page."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0032_line_styles"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ChartLayout",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "page",
                    models.CharField(
                        choices=[
                            ("experiment", "Experiment"),
                            ("compare", "Compare"),
                            ("sweep", "Sweep"),
                            ("run", "Run"),
                        ],
                        max_length=20,
                    ),
                ),
                ("cards", models.JSONField(default=list)),
                ("changed_at", models.DateTimeField(auto_now=True)),
                (
                    "experiment",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="chart_layouts",
                        to="runs.experiment",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="chart_layouts",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("person", "page", "experiment"),
                        name="chart_layout_once_a_page",
                        nulls_distinct=False,
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("experiment__isnull", False), ("page", "experiment")),
                            models.Q(models.Q(("page", "experiment"), _negated=True), ("experiment__isnull", True)),
                            _connector="OR",
                        ),
                        name="chart_layout_of_an_experiment_names_it",
                    ),
                ],
            },
        ),
    ]
