"""A worker is killed while it works: its questions and answers stay, and only the missing calls are made.

In `make test` test_server_failures.py lets leases lapse instead of killing a process.
"""

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
from tests.fakes.judge_server import JudgeRequest, JudgeServer, Reply, prefer_longer
from tests.judging.judge_factory import assign, make_judge, work_until_done
from tests.process_environment import on_test_database
from tests.waiting import PATIENCE_SECONDS, wait_until

MANAGE_PY = Path(__file__).parents[3] / "manage.py"


def connected_pids() -> set[int]:
    """Return the PostgreSQL processes that serve this database."""
    with connection.cursor() as sql:
        sql.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
        return {pid for (pid,) in sql.fetchall()}


@pytest.mark.soak
@pytest.mark.django_db(transaction=True)
def test_after_a_kill_the_missing_calls_are_made(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric]
) -> None:
    killed = threading.Event()

    def held_up(request_count: JudgeRequest) -> Reply:
        """Hold back some answers until the process is killed, however late that is."""
        if request_count.number >= 4:
            killed.wait(PATIENCE_SECONDS)
        return prefer_longer(request_count)

    server.reply_to = held_up
    assignment = assign(make_judge(server, ada, at_once=2), tournament, rubrics)
    command = [sys.executable, str(MANAGE_PY), "judges", "work", str(assignment.pk)]
    ours = connected_pids()
    with subprocess.Popen(command, env=on_test_database()) as process:
        wait_until(lambda: len(server.requests) >= 6 or process.poll() is not None, "six calls of the judge")
        process.send_signal(signal.SIGKILL)
    killed.set()
    # Requests of the killed process may still be on their way to either server.
    wait_until(lambda: server.has_no_connections, "the killed process to be disconnected from the judge's server")
    wait_until(lambda: connected_pids() <= ours, "the killed process to be disconnected from the database")
    before = judge_runs.get_status(assignment)
    request_count = len(server.requests)
    assert process.returncode == -signal.SIGKILL and 1 <= before.ended < request_count <= before.planned
    # Leases and slots of the killed process expire automatically; a test does not wait for that.
    Call.objects.filter(state="leased").update(leased_until="2020-01-01T00:00Z")
    Judge.objects.update(at_once=4)
    server.reply_to = prefer_longer
    done = work_until_done(assignment)
    assert done.state == Assignment.State.DONE and judge_runs.get_status(done).done == before.planned
    assert len(server.requests) - request_count == before.planned - before.ended
    assert Verdict.objects.current().count() == before.planned and done.reserved == 0
