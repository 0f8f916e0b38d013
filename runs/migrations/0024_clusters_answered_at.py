"""Clusters know when they last answered. So far a tick that had nothing to ask counted as an answer."""

from __future__ import annotations

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import Max


def note_what_is_known(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """A cluster that took a job has answered: at the latest when it was given the newest one."""
    for cluster in apps.get_model("runs", "Cluster").objects.all():
        taken = cluster.attempts.exclude(native_id="").aggregate(at=Max("submit_started_at"))["at"]
        if taken is not None:
            cluster.answered_at = taken
            cluster.save(update_fields=["answered_at"])


class Migration(migrations.Migration):
    dependencies = [("runs", "0023_scorer_secrets")]

    operations = [
        migrations.AddField("cluster", "answered_at", models.DateTimeField(blank=True, null=True)),
        migrations.RunPython(note_what_is_known, migrations.RunPython.noop),
    ]
