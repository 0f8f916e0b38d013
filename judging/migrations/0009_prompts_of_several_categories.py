import django.contrib.postgres.fields
from django.db import migrations, models

KEPT = "UPDATE judging_chosenprompt SET categories = ARRAY[category::text] WHERE category <> ''"
BACK = "UPDATE judging_chosenprompt SET category = left(categories[1], 200) WHERE cardinality(categories) > 0"


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0008_telling_pairs_and_second_answers"),
        ("runs", "0021_prompts_have_categories"),
    ]

    operations = [
        migrations.AddField(
            model_name="chosenprompt",
            name="categories",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.TextField(), blank=True, db_default=[], default=list, size=None
            ),
        ),
        migrations.RunSQL(KEPT, BACK),
        migrations.RemoveField(model_name="chosenprompt", name="category"),
    ]
