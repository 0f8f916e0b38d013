"""Programs that register themselves to be called, and the tokens that let them."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0014_limits_and_moves"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Service",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=40)),
                ("name", models.CharField(max_length=100)),
                ("instance", models.CharField(max_length=64)),
                ("address", models.CharField(max_length=500)),
                ("health_path", models.CharField(blank=True, max_length=200)),
                ("token_file", models.CharField(blank=True, max_length=500)),
                ("version", models.CharField(blank=True, max_length=100)),
                ("capabilities", models.JSONField(blank=True, default=dict)),
                ("lease_seconds", models.PositiveIntegerField()),
                ("registered_at", models.DateTimeField()),
                ("beat_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="services",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["kind", "expires_at"], name="service_alive")],
                "constraints": [
                    models.UniqueConstraint(fields=("owner", "kind", "name"), name="service_once_a_name")
                ],
            },
        ),
        migrations.AlterField(
            model_name="apitoken",
            name="scope",
            field=models.CharField(
                choices=[
                    ("read", "read"),
                    ("ingest", "ingest"),
                    ("launch", "launch"),
                    ("serve", "serve"),
                    ("admin", "admin"),
                ],
                max_length=10,
            ),
        ),
    ]
