"""What was installed where attempts ran, once for all that had the same."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0012_what_attempts_ran_on")]

    operations = [
        migrations.CreateModel(
            name="PackageSet",
            fields=[
                ("sha256", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("versions", models.JSONField()),
            ],
        ),
    ]
