import sys

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

SPACE = "".join(chr(one) for one in range(sys.maxunicode + 1) if chr(one).isspace())
IDENTICAL = """
UPDATE judging_comparison SET is_identical = TRUE
FROM runs_response a, runs_response b
WHERE a.id = response_a_id AND b.id = response_b_id AND btrim(a.text, %s) = btrim(b.text, %s)
"""
ASKED = """
UPDATE {table} SET asked = '{{"identical": "left-out"}}'::jsonb || asked
"""
LESS = "UPDATE {table} SET asked = asked - 'identical'"
TABLES = ("judging_snapshot", "judging_boardorder")


def note_identical(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Compare the answers that are stored, without the space around them."""
    with editor.connection.cursor() as cursor:
        cursor.execute(IDENTICAL, [SPACE, SPACE])


class Migration(migrations.Migration):
    """Each comparison says whether its answers are identical; boards that were kept stay found, as for 0010."""

    dependencies = [
        ("judging", "0011_turns_say_who_stands_left"),
        ("runs", "0023_scorer_secrets"),
    ]

    operations = [
        migrations.AddField(
            model_name="comparison",
            name="is_identical",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.RunPython(note_identical, migrations.RunPython.noop),
        *(migrations.RunSQL(ASKED.format(table=table), LESS.format(table=table)) for table in TABLES),
    ]
