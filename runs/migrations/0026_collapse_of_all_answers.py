"""What answers have in common is measured of all samples: what was measured of one a prompt is due again."""

from django.db import migrations

DUE = "UPDATE runs_collapse SET measured = 0 WHERE measures IS NOT NULL"


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0025_partial_runs"),
    ]

    operations = [
        migrations.RunSQL(DUE, migrations.RunSQL.noop),
    ]
