"""Whoever asks is killed in the middle: what it had asked and heard is kept, and the rest is asked, no call more."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection

from judging import judge_runs
from judging.models import Assignment, Call, Judge, Rubric, Tournament, Verdict
from tests.fakes.judge_server import Act, Asked, JudgeServer, longer
from tests.judging.judge_factory import judge_at, on, worked
from tests.process_environment import on_test_database
from tests.waiting import PATIENCE_SECONDS, wait_until

MANAGE_PY = Path(__file__).parents[3] / "manage.py"


def connected() -> set[int]:
    """The PostgreSQL processes that serve this database."""
    with connection.cursor() as sql:
        sql.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
        return {pid for (pid,) in sql.fetchall()}


@pytest.mark.django_db(transaction=True)
def test_after_a_kill_the_missing_calls_are_made(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric]
) -> None:
    killed = threading.Event()

    def held_up(asked: Asked) -> Act:
        """Some answers are under way when it is killed, however late that is."""
        if asked.number >= 4:
            killed.wait(PATIENCE_SECONDS)
        return longer(asked)

    server.act = held_up
    assignment = on(judge_at(server, ada, at_once=2), tournament, rubrics)
    command = [sys.executable, str(MANAGE_PY), "judges", "work", str(assignment.pk)]
    ours = connected()
    with subprocess.Popen(command, env=on_test_database()) as process:
        wait_until(lambda: len(server.asked) >= 6 or process.poll() is not None, "six calls of the judge")
        process.send_signal(signal.SIGKILL)
    killed.set()
    # What it had sent to either server may still be on its way.
    wait_until(lambda: server.is_left_alone, "the killed process to be disconnected from the judge's server")
    wait_until(lambda: connected() <= ours, "the killed process to be disconnected from the database")
    before = judge_runs.standing(assignment)
    asked = len(server.asked)
    assert process.returncode == -signal.SIGKILL and 1 <= before.ended < asked <= before.planned
    # What the dead hold, leases and places, runs out by itself; a test does not wait for it.
    Call.objects.filter(state="leased").update(leased_until="2020-01-01T00:00Z")
    Judge.objects.update(at_once=4)
    server.act = longer
    done = worked(assignment)
    assert done.state == Assignment.State.DONE and judge_runs.standing(done).done == before.planned
    assert len(server.asked) - asked == before.planned - before.ended
    assert Verdict.objects.current().count() == before.planned and done.reserved == 0
