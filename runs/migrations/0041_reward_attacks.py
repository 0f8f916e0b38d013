"""Results of attacks on rewards."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0040_right_responses"),
    ]

    operations = [
        migrations.CreateModel(
            name="RewardAttack",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("epoch", models.PositiveIntegerField()),
                ("seq", models.BigIntegerField()),
                ("step", models.BigIntegerField()),
                ("name", models.CharField(max_length=40)),
                ("needs", models.CharField(max_length=40)),
                ("verdict", models.CharField(max_length=40)),
                ("response", models.TextField(blank=True)),
                ("failure", models.TextField(blank=True)),
                ("values", models.JSONField(default=dict)),
                ("examples", models.JSONField(default=list)),
                ("attempt", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="runs.attempt")),
                ("run", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="runs.run")),
            ],
            options={
                "abstract": False,
                "indexes": [models.Index(fields=["run", "step"], name="runs_reward_run_id_089376_idx")],
                "constraints": [
                    models.UniqueConstraint(fields=("attempt", "epoch", "seq"), name="rewardattack_once")
                ],
            },
        ),
    ]
