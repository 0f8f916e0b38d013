"""Waits of jobs that their clusters refuse for now, and the times at which they are submitted again."""

from typing import ClassVar

from django.db import migrations, models

OBSTACLES = [("room", "room"), ("cluster", "cluster"), ("unclear", "unclear")]


class Migration(migrations.Migration):
    dependencies: ClassVar = [("runs", "0044_gold_labels")]
    operations: ClassVar = [
        operation
        for model in ("attempt", "rebuild")
        for operation in (
            migrations.AddField(
                model_name=model,
                name="obstacle",
                field=models.CharField(blank=True, choices=OBSTACLES, default="", max_length=10),
                preserve_default=False,
            ),
            migrations.AddField(
                model_name=model, name="submit_again_at", field=models.DateTimeField(blank=True, null=True)
            ),
        )
    ]
