"""What an attempt is to run, and what it ran on."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0011_knobs")]

    operations = [
        migrations.AddField("attempt", "code", models.JSONField(blank=True, null=True)),
        migrations.AddField("attempt", "environment", models.JSONField(blank=True, null=True)),
    ]
