"""Order the narrow index of runs by ascending id, so that new runs fill its last page."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0033_chart_layouts")]

    operations = [
        migrations.RemoveIndex(model_name="run", name="run_newest_first"),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                fields=["experiment", "id"],
                include=(
                    "archived_at", "deleted_at", "state", "method", "preset", "seed", "name", "created_by", "recipe",
                    "last_step", "time_taken", "created_at",
                ),
                name="run_narrow",
            ),
        ),
    ]  # fmt: skip
