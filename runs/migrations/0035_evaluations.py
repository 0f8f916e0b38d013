"""Runs that evaluate a single checkpoint of their parent name its step."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0034_narrow_index")]

    operations = [
        migrations.AddField(model_name="run", name="parent_step", field=models.BigIntegerField(blank=True, null=True)),
    ]
