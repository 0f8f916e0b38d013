import django.db.models.deletion
from django.db import migrations, models

# A comparison takes its tallies along. The database removes them: whoever deletes verdicts first would make them again.
GOES_ALONG = """
ALTER TABLE judging_verdicttally ADD CONSTRAINT verdict_tally_goes_along
    FOREIGN KEY (comparison_id) REFERENCES judging_comparison (id) ON DELETE CASCADE;
"""
LEAN = "CASE outcome WHEN 'a' THEN 1 WHEN 'b' THEN -1 ELSE 0 END"
# What a model was asked again, to see whether it says the same, counts once.
COUNTED = """
SELECT comparison_id, rubric_id, count(*), count(*) FILTER (WHERE label > 0), count(*) FILTER (WHERE label < 0),
       COALESCE(sum(label) FILTER (WHERE voter_id IS NOT NULL), 0),
       COALESCE(sum(label) FILTER (WHERE voter_id IS NULL), 0), bool_or(is_swapped)
FROM (
    SELECT comparison_id, rubric_id, voter_id, sign(sum({lean})) AS label,
           bool_or(first = 'a') AND bool_or(first = 'b') AND min({lean}) <> max({lean}) AS is_swapped
    FROM judging_verdict {among}
    WHERE replaced_at IS NULL AND outcome IN ('a', 'b', 'tie', 'both_bad')
      AND (sample = 0 OR voter_id IS NOT NULL OR judge_id NOT IN (SELECT id FROM judging_judge WHERE kind = 'openai'))
    GROUP BY comparison_id, rubric_id, voter_id, judge_id
) AS said
GROUP BY comparison_id, rubric_id
"""
INTO = """
INSERT INTO judging_verdicttally (comparison_id, rubric_id, raters, for_a, for_b, people, judges, is_swapped)
"""
AMONG = "JOIN (SELECT DISTINCT comparison_id, rubric_id FROM changed) AS c USING (comparison_id, rubric_id)"
FUNCTION = f"""
CREATE FUNCTION judging_tally_verdicts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- One writer after another: each statement below sees what those before it have written.
    PERFORM 1 FROM judging_comparison WHERE id IN (SELECT comparison_id FROM changed) ORDER BY id FOR NO KEY UPDATE;
    DELETE FROM judging_verdicttally t USING changed c
        WHERE t.comparison_id = c.comparison_id AND t.rubric_id = c.rubric_id;
    {INTO} {COUNTED.format(lean=LEAN, among=AMONG)};
    RETURN NULL;
END $$;
"""
TRIGGER = """
CREATE TRIGGER verdicts_are_tallied_{verb} AFTER {verb} ON judging_verdict REFERENCING {which} TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION judging_tally_verdicts();
"""
WHICH = {"insert": "NEW", "update": "NEW", "delete": "OLD"}
TRIGGERS = "".join(TRIGGER.format(verb=verb, which=which) for verb, which in WHICH.items())
UNDO = "".join(f"DROP TRIGGER verdicts_are_tallied_{verb} ON judging_verdict;" for verb in WHICH)
ALL = INTO + COUNTED.format(lean=LEAN, among="")


class Migration(migrations.Migration):

    dependencies = [
        ('judging', '0006_boards_to_work_out'),
    ]

    operations = [
        migrations.CreateModel(
            name='VerdictTally',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('raters', models.IntegerField()),
                ('for_a', models.IntegerField()),
                ('for_b', models.IntegerField()),
                ('people', models.IntegerField()),
                ('judges', models.IntegerField()),
                ('is_swapped', models.BooleanField()),
                ('comparison', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='tallies', to='judging.comparison')),
                ('rubric', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='judging.rubric')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('comparison', 'rubric'), include=('raters', 'for_a', 'for_b', 'people', 'judges', 'is_swapped'), name='verdict_tally_once')],
            },
        ),
        migrations.RunSQL(GOES_ALONG, migrations.RunSQL.noop),
        migrations.RunSQL(ALL, migrations.RunSQL.noop),
        migrations.RunSQL(FUNCTION + TRIGGERS, UNDO + "DROP FUNCTION judging_tally_verdicts();"),
    ]
