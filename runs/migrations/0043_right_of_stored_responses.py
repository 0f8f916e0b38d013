"""Responses that earlier versions stored get their gold measure. Parts, rewards and series stay as recorded."""

from typing import Any

from django.db import migrations

from runs.ingest.right_backfill import fill_right


def fill(_: Any, editor: Any) -> None:
    fill_right(editor.connection.alias)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("runs", "0042_tested_flags"),
    ]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
