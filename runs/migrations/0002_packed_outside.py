from django.db import migrations


class Migration(migrations.Migration):
    """Packed batches are deflated already: PostgreSQL would only waste time trying to compress them again."""

    dependencies = [("runs", "0001_initial")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE runs_batch ALTER COLUMN data SET STORAGE EXTERNAL",
            "ALTER TABLE runs_batch ALTER COLUMN data SET STORAGE EXTENDED",
        )
    ]
