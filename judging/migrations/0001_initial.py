"""Everything that judging keeps."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

RUBRICS_ARE_KEPT = """
CREATE FUNCTION judging_rubric_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rubric % is not changed: verdicts were given by it', OLD.id USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER rubric_is_kept BEFORE UPDATE ON judging_rubric
    FOR EACH ROW EXECUTE FUNCTION judging_rubric_is_kept();
"""
UNDO = "DROP TRIGGER rubric_is_kept ON judging_rubric; DROP FUNCTION judging_rubric_is_kept();"


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('runs', '0017_cluster_tests'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='GoldPair',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('place', models.PositiveIntegerField()),
                ('prompt', models.TextField()),
                ('text_a', models.TextField()),
                ('text_b', models.TextField()),
                ('category', models.CharField(blank=True, max_length=200)),
                ('expected', models.JSONField()),
            ],
        ),
        migrations.CreateModel(
            name='ChosenPrompt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('place', models.PositiveIntegerField()),
                ('category', models.CharField(blank=True, max_length=200)),
                ('prompt', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='chosen_for', to='runs.prompt')),
            ],
            options={
                'ordering': ('tournament', 'place'),
            },
        ),
        migrations.CreateModel(
            name='Contestant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=250)),
                ('place', models.PositiveSmallIntegerField()),
                ('step', models.BigIntegerField(blank=True, null=True)),
                ('split', models.CharField(blank=True, max_length=20)),
                ('run', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='contestants', to='runs.run')),
            ],
            options={
                'ordering': ('tournament', 'place'),
            },
        ),
        migrations.CreateModel(
            name='Criterion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(max_length=60, unique=True)),
                ('is_private', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='criteria', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'criteria',
            },
        ),
        migrations.CreateModel(
            name='Comparison',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('place', models.PositiveIntegerField()),
                ('first', models.CharField(choices=[('a', 'A'), ('b', 'B')], max_length=1)),
                ('leaks', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), blank=True, default=list, size=None)),
                ('prompt', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='comparisons', to='judging.chosenprompt')),
                ('response_a', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='runs.response')),
                ('response_b', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='runs.response')),
                ('a', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judging.contestant')),
                ('b', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judging.contestant')),
                ('gold_pair', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='comparisons', to='judging.goldpair')),
            ],
            options={
                'ordering': ('tournament', 'place'),
            },
        ),
        migrations.CreateModel(
            name='GoldSet',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200)),
                ('is_private', models.BooleanField(default=False)),
                ('sha256', models.CharField(blank=True, max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='gold_sets', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.AddField(
            model_name='goldpair',
            name='gold_set',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pairs', to='judging.goldset'),
        ),
        migrations.CreateModel(
            name='Judge',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('is_private', models.BooleanField(default=False)),
                ('kind', models.CharField(choices=[('openai', 'Openai'), ('rules', 'Rules')], default='openai', max_length=10)),
                ('base_url', models.CharField(blank=True, max_length=500)),
                ('model', models.CharField(max_length=200)),
                ('family', models.CharField(blank=True, max_length=100)),
                ('sampling', models.JSONField(blank=True, default=dict)),
                ('max_tokens', models.PositiveIntegerField(default=2048)),
                ('price_in', models.DecimalField(decimal_places=6, default=0, max_digits=12)),
                ('price_out', models.DecimalField(decimal_places=6, default=0, max_digits=12)),
                ('requests_per_minute', models.PositiveIntegerField(default=0)),
                ('tokens_per_minute', models.PositiveIntegerField(default=0)),
                ('at_once', models.PositiveSmallIntegerField(default=4)),
                ('digest', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('retired_at', models.DateTimeField(blank=True, null=True)),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='judges', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Call',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=64, unique=True)),
                ('sample', models.PositiveSmallIntegerField(default=0)),
                ('sent', models.JSONField()),
                ('state', models.CharField(choices=[('pending', 'Pending'), ('leased', 'Leased'), ('done', 'Done'), ('failed', 'Failed'), ('unparsed', 'Unparsed'), ('refused', 'Refused')], default='pending', max_length=10)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('leased_until', models.DateTimeField(blank=True, null=True)),
                ('not_before', models.DateTimeField(blank=True, null=True)),
                ('raw', models.TextField(blank=True)),
                ('parsed', models.JSONField(blank=True, null=True)),
                ('parser', models.CharField(blank=True, max_length=20)),
                ('flags', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), blank=True, default=list, size=None)),
                ('error', models.TextField(blank=True)),
                ('answered_by', models.CharField(blank=True, max_length=200)),
                ('finish_reason', models.CharField(blank=True, max_length=40)),
                ('tokens_in', models.PositiveIntegerField(default=0)),
                ('tokens_out', models.PositiveIntegerField(default=0)),
                ('is_estimated', models.BooleanField(default=False)),
                ('cost', models.DecimalField(decimal_places=8, default=0, max_digits=18)),
                ('seconds', models.FloatField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('judge', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='calls', to='judging.judge')),
            ],
        ),
        migrations.CreateModel(
            name='Assignment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('both_orders', models.BooleanField(default=True)),
                ('samples', models.PositiveSmallIntegerField(default=1)),
                ('cap', models.DecimalField(decimal_places=6, max_digits=14)),
                ('reserved', models.DecimalField(decimal_places=8, default=0, max_digits=18)),
                ('spent', models.DecimalField(decimal_places=8, default=0, max_digits=18)),
                ('state', models.CharField(choices=[('running', 'Running'), ('paused', 'Paused'), ('halted', 'Halted'), ('cancelled', 'Cancelled'), ('done', 'Done')], default='running', max_length=10)),
                ('reason', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('gold_set', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to='judging.goldset')),
                ('judge', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='judging.judge')),
            ],
        ),
        migrations.CreateModel(
            name='JudgeKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('secret', models.BinaryField()),
                ('hint', models.CharField(blank=True, max_length=8)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='judge_keys', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.AddField(
            model_name='judge',
            name='key',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='judges', to='judging.judgekey'),
        ),
        migrations.CreateModel(
            name='Rubric',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField()),
                ('question', models.CharField(max_length=200)),
                ('text', models.TextField()),
                ('scale_low', models.IntegerField(default=1)),
                ('scale_high', models.IntegerField(default=10)),
                ('digest', models.CharField(editable=False, max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('criterion', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='rubrics', to='judging.criterion')),
            ],
            options={
                'ordering': ('criterion', 'version'),
            },
        ),
        migrations.CreateModel(
            name='Question',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('first', models.CharField(choices=[('a', 'A'), ('b', 'B')], max_length=1)),
                ('sample', models.PositiveSmallIntegerField(default=0)),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='questions', to='judging.assignment')),
                ('call', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='questions', to='judging.call')),
                ('comparison', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='questions', to='judging.comparison')),
                ('gold_pair', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='questions', to='judging.goldpair')),
                ('rubric', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='judging.rubric')),
            ],
        ),
        migrations.AddField(
            model_name='call',
            name='rubric',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='calls', to='judging.rubric'),
        ),
        migrations.CreateModel(
            name='Calibration',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('passes', models.BooleanField()),
                ('measured', models.JSONField()),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('gold_set', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='calibrations', to='judging.goldset')),
                ('judge', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='calibrations', to='judging.judge')),
                ('rubric', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='calibrations', to='judging.rubric')),
            ],
        ),
        migrations.AddField(
            model_name='assignment',
            name='rubrics',
            field=models.ManyToManyField(related_name='assignments', to='judging.rubric'),
        ),
        migrations.CreateModel(
            name='Tournament',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200)),
                ('question', models.TextField(blank=True)),
                ('is_private', models.BooleanField(default=False)),
                ('seed', models.BigIntegerField()),
                ('overlap', models.PositiveSmallIntegerField(default=1)),
                ('gold_every', models.PositiveSmallIntegerField(default=15)),
                ('reveals', models.BooleanField(default=True)),
                ('warns', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('paused_at', models.DateTimeField(blank=True, null=True)),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('deleted_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('gold_set', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='tournaments', to='judging.goldset')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='tournaments', to=settings.AUTH_USER_MODEL)),
                ('rubrics', models.ManyToManyField(related_name='tournaments', to='judging.rubric')),
            ],
        ),
        migrations.CreateModel(
            name='Snapshot',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('asked', models.JSONField(default=dict)),
                ('board', models.JSONField()),
                ('votes', models.PositiveIntegerField()),
                ('last_verdict', models.BigIntegerField(blank=True, null=True)),
                ('digest', models.CharField(max_length=64)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('rubric', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='snapshots', to='judging.rubric')),
                ('tournament', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='snapshots', to='judging.tournament')),
            ],
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('tournament', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='judging.tournament')),
            ],
        ),
        migrations.AddField(
            model_name='contestant',
            name='tournament',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='contestants', to='judging.tournament'),
        ),
        migrations.AddField(
            model_name='comparison',
            name='tournament',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='comparisons', to='judging.tournament'),
        ),
        migrations.AddField(
            model_name='chosenprompt',
            name='tournament',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chosen_prompts', to='judging.tournament'),
        ),
        migrations.AddField(
            model_name='assignment',
            name='tournament',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to='judging.tournament'),
        ),
        migrations.CreateModel(
            name='Voter',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('imported_name', models.CharField(blank=True, max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('invitation', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='voter', to='judging.invitation')),
                ('tournament', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='voters', to='judging.tournament')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='voters', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Verdict',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sample', models.PositiveSmallIntegerField(default=0)),
                ('outcome', models.CharField(choices=[('a', 'a'), ('b', 'b'), ('tie', 'tie'), ('both_bad', 'both_bad'), ('unparsed', 'unparsed'), ('refused', 'refused'), ('error', 'error'), ('skip', 'skip')], max_length=10)),
                ('score_a', models.FloatField(blank=True, null=True)),
                ('score_b', models.FloatField(blank=True, null=True)),
                ('reason', models.CharField(blank=True, max_length=200)),
                ('first', models.CharField(blank=True, choices=[('a', 'A'), ('b', 'B')], max_length=1)),
                ('is_blind', models.BooleanField(default=True)),
                ('seconds', models.FloatField(blank=True, null=True)),
                ('key', models.CharField(blank=True, max_length=40)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('replaced_at', models.DateTimeField(blank=True, null=True)),
                ('call', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='verdicts', to='judging.call')),
                ('comparison', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='verdicts', to='judging.comparison')),
                ('judge', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='verdicts', to='judging.judge')),
                ('rubric', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='verdicts', to='judging.rubric')),
                ('voter', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='verdicts', to='judging.voter')),
            ],
        ),
        migrations.CreateModel(
            name='Turn',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('n', models.PositiveIntegerField()),
                ('handed_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('is_passed', models.BooleanField(default=False)),
                ('revealed_at', models.DateTimeField(blank=True, null=True)),
                ('comparison', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='turns', to='judging.comparison')),
                ('voter', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='turns', to='judging.voter')),
            ],
        ),
        migrations.AddConstraint(
            model_name='goldpair',
            constraint=models.UniqueConstraint(fields=('gold_set', 'place'), name='gold_pair_once_a_place'),
        ),
        migrations.AddConstraint(
            model_name='judgekey',
            constraint=models.UniqueConstraint(fields=('owner', 'name'), name='judge_key_once_a_name'),
        ),
        migrations.AddConstraint(
            model_name='judge',
            constraint=models.UniqueConstraint(condition=models.Q(('retired_at__isnull', True)), fields=('owner', 'name'), name='judge_once_a_name'),
        ),
        migrations.AddConstraint(
            model_name='rubric',
            constraint=models.UniqueConstraint(fields=('criterion', 'version'), name='rubric_once_a_version'),
        ),
        migrations.AddConstraint(
            model_name='rubric',
            constraint=models.CheckConstraint(condition=models.Q(('scale_low__lt', models.F('scale_high'))), name='rubric_scale_rises'),
        ),
        migrations.AddConstraint(
            model_name='question',
            constraint=models.UniqueConstraint(condition=models.Q(('comparison__isnull', False)), fields=('assignment', 'comparison', 'rubric', 'first', 'sample'), name='question_once'),
        ),
        migrations.AddConstraint(
            model_name='question',
            constraint=models.UniqueConstraint(condition=models.Q(('gold_pair__isnull', False)), fields=('assignment', 'gold_pair', 'rubric', 'first', 'sample'), name='question_once_of_gold'),
        ),
        migrations.AddConstraint(
            model_name='question',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('comparison__isnull', False), ('gold_pair__isnull', True)), models.Q(('comparison__isnull', True), ('gold_pair__isnull', False)), _connector='OR'), name='question_of_a_comparison_or_gold'),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(fields=['judge', 'state', 'id'], name='call_by_state'),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(condition=models.Q(('state', 'leased')), fields=['leased_until'], name='call_lease'),
        ),
        migrations.AddIndex(
            model_name='calibration',
            index=models.Index(fields=['judge', 'rubric', '-at'], name='calibration_newest'),
        ),
        migrations.AddConstraint(
            model_name='tournament',
            constraint=models.CheckConstraint(condition=models.Q(('overlap__gte', 1)), name='tournament_of_one_voter_at_least'),
        ),
        migrations.AddConstraint(
            model_name='tournament',
            constraint=models.CheckConstraint(condition=models.Q(('gold_every__gte', 2)), name='tournament_not_of_gold_alone'),
        ),
        migrations.AddIndex(
            model_name='snapshot',
            index=models.Index(fields=['tournament', 'rubric', '-at'], name='snapshot_newest'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.UniqueConstraint(fields=('tournament', 'name'), name='invitation_once_a_name'),
        ),
        migrations.AddConstraint(
            model_name='contestant',
            constraint=models.UniqueConstraint(fields=('tournament', 'name'), name='contestant_once_a_name'),
        ),
        migrations.AddConstraint(
            model_name='contestant',
            constraint=models.UniqueConstraint(fields=('tournament', 'run', 'step', 'split'), name='contestant_once'),
        ),
        migrations.AddConstraint(
            model_name='comparison',
            constraint=models.UniqueConstraint(fields=('tournament', 'prompt', 'a', 'b'), name='comparison_once'),
        ),
        migrations.AddConstraint(
            model_name='comparison',
            constraint=models.UniqueConstraint(fields=('tournament', 'gold_pair'), name='comparison_once_a_gold_pair'),
        ),
        migrations.AddConstraint(
            model_name='comparison',
            constraint=models.UniqueConstraint(fields=('tournament', 'place'), name='comparison_once_a_place'),
        ),
        migrations.AddConstraint(
            model_name='comparison',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('a__isnull', False), ('b__isnull', False), ('gold_pair__isnull', True), ('prompt__isnull', False)), models.Q(('a__isnull', True), ('b__isnull', True), ('gold_pair__isnull', False), ('prompt__isnull', True)), _connector='OR'), name='comparison_of_contestants_or_gold'),
        ),
        migrations.AddConstraint(
            model_name='comparison',
            constraint=models.CheckConstraint(condition=models.Q(('a', models.F('b')), _negated=True), name='comparison_of_two'),
        ),
        migrations.AddConstraint(
            model_name='chosenprompt',
            constraint=models.UniqueConstraint(fields=('tournament', 'prompt'), name='chosen_prompt_once'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('gold_set__isnull', True), ('tournament__isnull', False)), models.Q(('gold_set__isnull', False), ('tournament__isnull', True)), _connector='OR'), name='assignment_to_a_tournament_or_gold'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.CheckConstraint(condition=models.Q(('cap__gte', 0)), name='assignment_cap_is_no_debt'),
        ),
        migrations.AddConstraint(
            model_name='voter',
            constraint=models.UniqueConstraint(fields=('tournament', 'number'), name='voter_once_a_number'),
        ),
        migrations.AddConstraint(
            model_name='voter',
            constraint=models.UniqueConstraint(fields=('tournament', 'user'), name='voter_once'),
        ),
        migrations.AddConstraint(
            model_name='voter',
            constraint=models.UniqueConstraint(condition=models.Q(('imported_name', ''), _negated=True), fields=('tournament', 'imported_name'), name='voter_once_a_name'),
        ),
        migrations.AddConstraint(
            model_name='voter',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('imported_name', ''), ('invitation__isnull', True), ('user__isnull', False)), models.Q(('imported_name', ''), ('invitation__isnull', False), ('user__isnull', True)), models.Q(('invitation__isnull', True), ('user__isnull', True), models.Q(('imported_name', ''), _negated=True)), _connector='OR'), name='voter_is_somebody'),
        ),
        migrations.AddIndex(
            model_name='verdict',
            index=models.Index(fields=['comparison', 'rubric'], name='verdict_by_comparison'),
        ),
        migrations.AddConstraint(
            model_name='verdict',
            constraint=models.UniqueConstraint(condition=models.Q(('replaced_at__isnull', True), ('voter__isnull', False)), fields=('voter', 'comparison', 'rubric'), name='verdict_one_a_voter'),
        ),
        migrations.AddConstraint(
            model_name='verdict',
            constraint=models.UniqueConstraint(condition=models.Q(('judge__isnull', False), ('replaced_at__isnull', True)), fields=('judge', 'comparison', 'rubric', 'first', 'sample'), name='verdict_one_a_judge_and_order'),
        ),
        migrations.AddConstraint(
            model_name='verdict',
            constraint=models.UniqueConstraint(condition=models.Q(('key', ''), _negated=True), fields=('voter', 'key', 'rubric'), name='verdict_once_a_key'),
        ),
        migrations.AddConstraint(
            model_name='verdict',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('call__isnull', True), ('judge__isnull', True), ('voter__isnull', False)), models.Q(('judge__isnull', False), ('voter__isnull', True)), _connector='OR'), name='verdict_by_a_voter_or_a_judge'),
        ),
        migrations.AddConstraint(
            model_name='turn',
            constraint=models.UniqueConstraint(fields=('voter', 'comparison'), name='turn_once'),
        ),
        migrations.AddConstraint(
            model_name='turn',
            constraint=models.UniqueConstraint(fields=('voter', 'n'), name='turn_once_a_number'),
        ),
        migrations.RunSQL(RUBRICS_ARE_KEPT, UNDO),
    ]
