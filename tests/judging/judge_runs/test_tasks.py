"""The job that calls judges: one process at a time, each assignment in its turn, and a failure blocks no other."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import connection

from judging.judge_runs import tasks, worker
from judging.judges import self_preference_warning
from judging.models import Assignment, JudgeKey, Tournament
from runs.models import Experiment
from tests.fakes.judge_server import JudgeServer
from tests.judging.judge_factory import assign, make_judge
from tests.judging.tournament_factory import make_tournament

pytestmark = pytest.mark.django_db


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as running:
        yield running


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    return make_tournament(ada, experiment, prompts=1, contestants=2)


def test_judge_with_lost_key_halts_without_blocking_others(
    ada: User, server: JudgeServer, tournament: Tournament
) -> None:
    rubrics = list(tournament.rubrics.all())
    locked, well = make_judge(server, ada), make_judge(server, ada, key=None)
    lost, done = assign(locked, tournament, rubrics), assign(well, tournament, rubrics)
    JudgeKey.objects.update(secret=b"sealed by another")
    tasks.ask_judges()
    lost.refresh_from_db()
    done.refresh_from_db()
    assert lost.state == Assignment.State.HALTED and "enter it again" in lost.reason
    assert done.state == Assignment.State.DONE and len(server.requests) == 4


def test_judge_job_waits_for_lock_of_another_process(ada: User, server: JudgeServer, tournament: Tournament) -> None:
    assign(make_judge(server, ada), tournament, list(tournament.rubrics.all()))
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("SELECT pg_advisory_lock(hashtext(%s))", [worker.LOCK])
        tasks.ask_judges()
        assert not server.requests
        # A closed connection's lock is given up when its server notices, which may be after the next line.
        other.execute("SELECT pg_advisory_unlock(hashtext(%s))", [worker.LOCK])
    tasks.ask_judges()
    assert len(server.requests) == 4


def test_judge_of_same_family_as_contestant_is_flagged(ada: User, server: JudgeServer, tournament: Tournament) -> None:
    contestants = list(tournament.contestants.select_related("run"))
    contestants[0].run.config = {"model": {"path": "Qwen/Qwen2.5-1.5B"}}  # type: ignore[union-attr]
    assert contestants[0].name in self_preference_warning(make_judge(server, ada, family="qwen"), contestants)
    assert (
        self_preference_warning(make_judge(server, ada, family="llama"), contestants)
        == self_preference_warning(make_judge(server, ada), contestants)
        == ""
    )
