"""The job that asks judges: one process at a time, each assignment in its turn, and what fails holds up nobody."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import connection

from judging.judge_runs import tasks, worker
from judging.judges import kin
from judging.models import Assignment, JudgeKey, Tournament
from runs.models import Experiment
from tests.fakes.judge_server import JudgeServer
from tests.judging.judge_factory import judge_at, on
from tests.judging.tournament_factory import held

pytestmark = pytest.mark.django_db


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as running:
        yield running


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    return held(ada, experiment, prompts=1, contestants=2)


def test_a_judge_that_cannot_be_asked_halts_and_the_others_go_on(
    ada: User, server: JudgeServer, tournament: Tournament
) -> None:
    rubrics = list(tournament.rubrics.all())
    locked, well = judge_at(server, ada), judge_at(server, ada, key=None)
    lost, done = on(locked, tournament, rubrics), on(well, tournament, rubrics)
    JudgeKey.objects.update(secret=b"sealed by another")
    tasks.ask_judges()
    lost.refresh_from_db()
    done.refresh_from_db()
    assert lost.state == Assignment.State.HALTED and "enter it again" in lost.reason
    assert done.state == Assignment.State.DONE and len(server.asked) == 4


def test_nothing_is_asked_while_another_process_does(ada: User, server: JudgeServer, tournament: Tournament) -> None:
    on(judge_at(server, ada), tournament, list(tournament.rubrics.all()))
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("SELECT pg_advisory_lock(hashtext(%s))", [worker.LOCK])
        tasks.ask_judges()
        assert not server.asked
        # A closed connection's lock is given up when its server notices, which may be after the next line.
        other.execute("SELECT pg_advisory_unlock(hashtext(%s))", [worker.LOCK])
    tasks.ask_judges()
    assert len(server.asked) == 4


def test_a_judge_among_its_own_kin_is_warned_of(ada: User, server: JudgeServer, tournament: Tournament) -> None:
    contestants = list(tournament.contestants.select_related("run"))
    contestants[0].run.config = {"model": {"path": "Qwen/Qwen2.5-1.5B"}}  # type: ignore[union-attr]
    assert contestants[0].name in kin(judge_at(server, ada, family="qwen"), contestants)
    assert kin(judge_at(server, ada, family="llama"), contestants) == kin(judge_at(server, ada), contestants) == ""
