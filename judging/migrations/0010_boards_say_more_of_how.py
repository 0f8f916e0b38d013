from django.db import migrations

SAID = """
UPDATE {table} SET asked = '{{"init": 1000.0, "k": 32.0, "shuffle": 123, "failed": "tie"}}'::jsonb || asked
"""
TABLES = ("judging_snapshot", "judging_boardorder")


class Migration(migrations.Migration):
    """Boards are found by how they were asked for, which says more from here on: those that were kept stay found."""

    dependencies = [
        ("judging", "0009_prompts_of_several_categories"),
    ]

    operations = [migrations.RunSQL(SAID.format(table=table), migrations.RunSQL.noop) for table in TABLES]
