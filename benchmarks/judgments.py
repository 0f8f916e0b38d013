"""Judgments of the viewer's answers: a tournament of all models on all rows, with two judges in both orders and a
voter."""

from __future__ import annotations

import random

TOURNAMENT, ROWS = "Benchmark", 3036
VOTE_EVERY = 3
FIRSTS = ("a", "b")
INSERT_JUDGE_VERDICTS = """
INSERT INTO judging_verdict (comparison_id, rubric_id, judge_id, sample, outcome, reason, first, is_blind, key, at)
SELECT id, %s, %s, 0, (ARRAY['a', 'a', 'b', 'b', 'tie'])[1 + abs(hashint8(id * 31 + %s)) %% 5], '', %s, true, '', now()
FROM judging_comparison WHERE tournament_id = %s AND id %% 50 <> 0
"""
INSERT_VOTES = """
INSERT INTO judging_verdict (comparison_id, rubric_id, voter_id, sample, outcome, reason, first, is_blind, key, at)
SELECT id, %s, %s, 0, (ARRAY['a', 'b', 'tie'])[1 + abs(hashint8(id)) %% 3], '', first, true, '', now()
FROM judging_comparison WHERE tournament_id = %s AND id %% %s = 0
"""


def judge(uids: list[str]) -> int:
    """Create a tournament of the models' answers, and store verdicts on it; return the number of verdicts. They are
    drawn by hashes: of five pairs, two have the same verdict in both orders."""
    from django.contrib.auth.models import User
    from django.db import connection

    from judging.judges import create_standard_rubrics
    from judging.models import Judge, Rubric, Tournament, Verdict, Voter
    from judging.tournaments import Entry, create_tournament
    from runs.models import Response, Run

    create_standard_rubrics()
    rubrics = list(Rubric.objects.order_by("pk"))
    runs = list(Run.objects.filter(uid__in=uids).select_related("experiment__owner").order_by("pk"))
    step = Response.objects.filter(run=runs[0]).values_list("step", flat=True)[0]
    owner = runs[0].experiment.owner
    entries = [Entry(run, step, "eval") for run in runs]
    tournament = create_tournament(Tournament(owner=owner, name=TOURNAMENT, seed=1), entries, rubrics, prompts=ROWS)
    voter = Voter.objects.create(tournament=tournament, number=0, user=User.objects.create(username="voter"))
    with connection.cursor() as sql:
        for name in ("Uno", "Due"):
            judge = Judge.objects.create(name=name, model=name, digest=name)
            for rubric in rubrics:
                for first in FIRSTS:
                    seed = random.Random(f"{name} {rubric} {first}").randrange(10**6)
                    sql.execute(INSERT_JUDGE_VERDICTS, [rubric.pk, judge.pk, seed, first, tournament.pk])
        sql.execute(INSERT_VOTES, [rubrics[0].pk, voter.pk, tournament.pk, VOTE_EVERY])
    return Verdict.objects.count()
