"""A tournament with lists of any length: voters, invitations, judges, files, assignments, versions."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from judging.models import (
    Assignment,
    Calibration,
    Comparison,
    Invitation,
    Judge,
    JudgmentFile,
    Rubric,
    Side,
    Tournament,
    Verdict,
    Voter,
)
from tests.judging.tournament_factory import make_gold_set, rubric

COUNTS = {"read": 1, "made": 1, "changed": 0, "alone": 0, "not_read": 0}


def extend_lists(tournament: Tournament, judge: Judge, start: int, stop: int) -> None:
    """Give each list the rows from `start` to `stop`: the judge its assignments and calibrations, the tournament the
    rest. Every judge that a file named says one thing of one comparison."""
    owner, numbers = tournament.owner, range(start, stop)
    ends = timezone.now() + timedelta(days=3)
    Voter.objects.bulk_create(Voter(tournament=tournament, number=n, imported_name=f"voter {n:05}") for n in numbers)
    Invitation.objects.bulk_create(
        Invitation(tournament=tournament, name=f"guest {n:05}", digest=f"{n}", created_by=owner, expires_at=ends)
        for n in numbers
    )
    JudgmentFile.objects.bulk_create(
        JudgmentFile(tournament=tournament, name=f"file {n:05}.jsonl", sha256=f"{n}", by=owner, **COUNTS)
        for n in numbers
    )
    Assignment.objects.bulk_create(
        Assignment(judge=judge, tournament=tournament, cap=1, created_by=owner, state="done") for _ in numbers
    )
    gold_set, helpful = make_gold_set(owner, 1), rubric("helpfulness")
    Calibration.objects.bulk_create(
        Calibration(judge=judge, rubric=helpful, gold_set=gold_set, passes=True, measured={}) for _ in numbers
    )
    Rubric.objects.bulk_create(
        Rubric(criterion=helpful.criterion, version=n + 2, question="?", text=f"{n}", digest=f"{n}") for n in numbers
    )
    add_named_judges(tournament, start, stop)


def add_named_judges(tournament: Tournament, start: int, stop: int) -> None:
    """Create judges as named by a file, each with a verdict by helpfulness."""
    named = Judge.objects.bulk_create(
        Judge(name=f"named {n:05}", owner=tournament.owner, kind=Judge.Kind.IMPORTED, model="m", digest=f"{n}")
        for n in range(start, stop)
    )
    comparison = Comparison.objects.filter(tournament=tournament)[0]
    helpful = tournament.rubrics.get(criterion__slug="helpfulness")
    Verdict.objects.bulk_create(
        Verdict(comparison=comparison, rubric=helpful, judge=judge, outcome="a", first=Side.A.value) for judge in named
    )
