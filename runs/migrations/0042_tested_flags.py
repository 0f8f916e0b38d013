"""Flags carry the test that made them fire. Thresholds whose meaning changed return to their defaults."""

from typing import Any

from django.db import migrations, models

RESET = ("accuracy", "safety", "kl_band")
"""Detectors whose thresholds were points of a share and times a median; they are a part of a share and nats now."""


def reset_thresholds(apps: Any, _: Any) -> None:
    """Remove the numbers of these detectors; one that is off stays off. Have every run checked again."""
    for row in apps.get_model("runs", "FlagThresholds").objects.all():
        values = {name: value for name, value in row.values.items() if name not in RESET or value is None}
        if values != row.values:
            row.values = values
            row.save(update_fields=["values"])
    apps.get_model("runs", "FlagCheck").objects.update(arrived=models.F("arrived") + 1)


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0041_reward_attacks"),
    ]

    operations = [
        *(migrations.AddField("flag", name, models.FloatField(null=True)) for name in ("p", "level", "low", "high")),
        migrations.AddField("flag", "number", models.PositiveIntegerField(null=True)),
        migrations.AddField("flagcheck", "judged", models.JSONField(default=dict, db_default={})),
        *(
            migrations.AddField("flagcheck", name, models.PositiveIntegerField(default=0, db_default=0))
            for name in ("responses", "responses_before")
        ),
        migrations.RunPython(reset_thresholds, migrations.RunPython.noop, elidable=True),
    ]
