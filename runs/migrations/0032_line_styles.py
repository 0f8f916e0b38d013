from __future__ import annotations

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0031_notes_read")]

    operations = [
        migrations.CreateModel(
            name="LineStyle",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("dimension", models.CharField(max_length=64)),
                ("identity", models.CharField(max_length=64)),
                ("method", models.CharField(blank=True, max_length=20)),
                ("variant", models.PositiveIntegerField()),
                (
                    "colour",
                    models.CharField(
                        blank=True,
                        max_length=7,
                        validators=[django.core.validators.RegexValidator("^#[0-9a-f]{6}$")],
                    ),
                ),
                (
                    "experiment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="line_styles", to="runs.experiment"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("experiment", "identity"), name="line_style_once_a_group"),
                    models.UniqueConstraint(
                        fields=("experiment", "dimension", "method", "variant"), name="line_style_for_one_group"
                    ),
                ],
            },
        ),
    ]
