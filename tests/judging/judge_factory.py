"""Judges for tests, and the work they do, without a queue: a job is called until nothing is left."""

from __future__ import annotations

from decimal import Decimal

from django.contrib.auth.models import User

from judging import judge_runs
from judging.judges import Draft, keep_key, make
from judging.models import Assignment, Call, GoldSet, Judge, Tournament
from tests.fakes.judge_server import KEY, JudgeServer
from tests.waiting import PATIENCE_SECONDS, wait_until


def judge_at(server: JudgeServer, owner: User, **changes: object) -> Judge:
    """A judge that is asked at a server, at a price that shows."""
    said = {"name": f"judge {Judge.objects.count()}", "base_url": server.url, "model": "fake-1"}
    priced = {"price_in": Decimal(1000), "price_out": Decimal(1000), "at_once": 4}
    priced["answer_seconds"] = int(PATIENCE_SECONDS)
    key = keep_key(owner, "fake", KEY)
    return make(owner, Draft(**(said | priced | {"key": key} | changes)))  # type: ignore[arg-type]


def on(judge: Judge, about: Tournament | GoldSet, rubrics: list, cap: str = "1000", **changes: object) -> Assignment:
    """The judge, put to work on a tournament or a gold set."""
    place = {"tournament": about} if isinstance(about, Tournament) else {"gold_set": about}
    order = judge_runs.Order(judge, rubrics, Decimal(cap), **place, **changes)  # type: ignore[arg-type]
    assert judge.owner is not None
    return judge_runs.start(order, judge.owner)


def worked(assignment: Assignment) -> Assignment:
    """Work on it as ticks would, until it is not running any more."""

    def is_over() -> bool:
        if judge_runs.work(assignment, 5.0) is None:
            return True
        # The pauses between tries are for the judge's server; a test does not sit them out.
        Call.objects.filter(not_before__isnull=False).update(not_before=None)
        return False

    wait_until(is_over, "the assignment to end")
    assignment.refresh_from_db()
    return assignment
