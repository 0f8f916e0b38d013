"""One row of each kind that addresses of judging name: a tournament, a judge at work on it, an invitation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from judging.models import Assignment, GoldSet, Invitation, Judge, Tournament
from runs.models import Experiment
from tests.judging.tournament_factory import make_tournament

MODELS = (Tournament, Judge, Assignment, Invitation, GoldSet)


@dataclass(frozen=True)
class Meeting:
    """The rows that were created."""

    tournament: Tournament
    judge: Judge
    assignment: Assignment
    invitation: Invitation


def meeting(owner: User, experiment: Experiment, name: str = "Which?", *, is_private: bool = False) -> Meeting:
    """Create two contestants on one prompt; the judge's server does not exist, and its assignment is paused."""
    tournament = make_tournament(owner, experiment, prompts=1, contestants=2, name=name, is_private=is_private)
    judge = Judge.objects.create(
        owner=owner, name=name, model="m", base_url="http://localhost:9/v1", digest="0", is_private=is_private
    )
    assignment = Assignment.objects.create(
        judge=judge, tournament=tournament, cap=1, planned=4, state=Assignment.State.PAUSED, created_by=owner
    )
    ends = timezone.now() + timedelta(days=3)
    invitation = Invitation.objects.create(
        tournament=tournament, name=name, digest=name, created_by=owner, expires_at=ends
    )
    return Meeting(tournament, judge, assignment, invitation)


def count_from_one() -> None:
    """Let the next row of each kind have the id 1, as in examples."""
    with connection.cursor() as cursor:
        for model in MODELS:
            table = model._meta.db_table
            cursor.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), 1, false)", [table])
