"""Up to when a user has read the notes of others."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0030_flags"),
    ]

    operations = [
        migrations.AddField(
            model_name="preference",
            name="notes_marked_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="preference",
            name="notes_read_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="preference",
            name="notes_read_before_at",
            field=models.DateTimeField(null=True),
        ),
    ]
