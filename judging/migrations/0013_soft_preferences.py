from django.db import migrations, models


class Migration(migrations.Migration):
    """Verdicts can be soft: a share of the preference is for a. Earlier ones have an outcome alone."""

    dependencies = [
        ("judging", "0012_identical_answers"),
    ]

    operations = [
        migrations.AddField(
            model_name="verdict",
            name="preference",
            field=models.FloatField(blank=True, null=True),
        ),
    ]
