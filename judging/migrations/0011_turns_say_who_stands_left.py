from django.db import migrations, models


class Migration(migrations.Migration):
    """Each turn says who stands left in it. In turns that were handed out before, it follows from the comparison."""

    dependencies = [
        ("judging", "0010_boards_say_more_of_how"),
    ]

    operations = [
        migrations.AddField(
            model_name="turn",
            name="first",
            field=models.CharField(
                blank=True, choices=[("a", "A"), ("b", "B")], db_default="", default="", max_length=1
            ),
        ),
    ]
