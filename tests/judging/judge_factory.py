"""Judges for tests, and their work without a queue: a job is called until nothing is left."""

from __future__ import annotations

from decimal import Decimal

from django.contrib.auth.models import User

from judging import judge_runs
from judging.judges import create_judge, save_key
from judging.models import Assignment, Call, GoldSet, Judge, Tournament
from tests.fakes.judge_server import KEY, JudgeServer
from tests.waiting import PATIENCE_SECONDS, wait_until


def make_judge(server: JudgeServer, owner: User, **changes: object) -> Judge:
    """Create a judge at this server, with a price that is visible in the costs."""
    fields = {"name": f"judge {Judge.objects.count()}", "base_url": server.url, "model": "fake-1"}
    priced = {"price_in": Decimal(1000), "price_out": Decimal(1000), "at_once": 4}
    priced["answer_seconds"] = int(PATIENCE_SECONDS)
    key = save_key(owner, "fake", KEY)
    return create_judge(owner, Judge(**(fields | priced | {"key": key, "sampling": {"temperature": 0}} | changes)))


def assign(
    judge: Judge, about: Tournament | GoldSet, rubrics: list, cap: str = "1000", **changes: object
) -> Assignment:
    """Start the judge on a tournament or a gold set; return the assignment."""
    target = {"tournament": about} if isinstance(about, Tournament) else {"gold_set": about}
    assignment = Assignment(judge=judge, created_by=judge.owner, cap=Decimal(cap), **target, **changes)
    return judge_runs.start(assignment, rubrics)


def work_until_done(assignment: Assignment) -> Assignment:
    """Work on the assignment as ticks would, until it no longer runs."""

    def is_over() -> bool:
        if judge_runs.work(assignment, 5.0) is None:
            return True
        # The pauses between tries are for the judge's server; a test does not wait for them.
        Call.objects.filter(not_before__isnull=False).update(not_before=None)
        return False

    wait_until(is_over, "the assignment to end")
    assignment.refresh_from_db()
    return assignment
