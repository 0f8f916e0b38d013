from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0007_verdicts_are_tallied"),
    ]

    operations = [
        migrations.AddField(
            model_name="assignment",
            name="asks_twice",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="tournament",
            name="picks",
            field=models.CharField(
                choices=[("balanced", "Balanced"), ("telling", "Telling")], default="balanced", max_length=10
            ),
        ),
        migrations.AddField(
            model_name="turn",
            name="chance",
            field=models.FloatField(blank=True, null=True),
        ),
    ]
