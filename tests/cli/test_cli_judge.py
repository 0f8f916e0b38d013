"""`esweb judge`, against the real server."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User

from esweb_client.cli.errors import BAD_INPUT, NOT_FOUND
from judging import boards
from judging.models import Assignment
from judging.stats.votes import Outcome
from runs.models import Experiment
from tests.cli.conftest import RunCli
from tests.fakes.judge_server import JudgeServer
from tests.judging.bulk_verdicts import add_judge_verdicts
from tests.judging.judge_factory import make_judge, work_until_done
from tests.judging.sample_tournament import Meeting, meeting
from tests.judging.tournament_factory import rubric


@pytest.fixture
def sample(token: str, ada: User, experiment: Experiment) -> Meeting:
    return meeting(ada, experiment)


def test_tournaments_and_judges_are_listed(run_cli: RunCli, sample: Meeting) -> None:
    code, out, _ = run_cli("judge", "ls")
    assert code == 0 and out.splitlines()[1].split()[:3] == [str(sample.tournament.pk), "open", "ada"]
    judges = json.loads(run_cli("judge", "judges", "--json")[1])
    assert {row["name"] for row in judges} == {sample.judge.name, "Rules (form alone)"}
    code, out, _ = run_cli("judge", "show", str(sample.tournament.pk))
    assert code == 0 and "criteria: helpfulness, harmlessness" in out and "0 of 1 pairs judged; 0 verdicts" in out
    assert out.splitlines()[-1].split()[:3] == [str(sample.assignment.pk), "Which?", "paused"]


def test_judge_is_estimated_started_and_controlled(run_cli: RunCli, ada: User, sample: Meeting) -> None:
    pk = str(sample.tournament.pk)
    with JudgeServer() as server:
        make_judge(server, ada, name="gpt")
        code, out, _ = run_cli("judge", "start", pk, "--judge", "gpt", "--criterion", "helpfulness")
        assert code == 0 and "questions; likely cost" in out and "--cap AMOUNT" in out
        assert Assignment.objects.count() == 1
        arguments = ("judge", "start", pk, "--judge", "gpt", "--criterion", "helpfulness", "--cap", "100", "--json")
        started = json.loads(run_cli(*arguments)[1])
        number = str(started["id"])
        assert json.loads(run_cli("judge", "pause", number, "--json")[1])["state"] == "paused"
        assert json.loads(run_cli("judge", "resume", number, "--json")[1])["state"] == "running"
        work_until_done(Assignment.objects.get(pk=started["id"]))
        assert "done" in run_cli("judge", "show", pk)[1]
    assert run_cli("judge", "cancel", str(sample.assignment.pk))[0] == 0
    sample.assignment.refresh_from_db()
    assert sample.assignment.state == "cancelled"


def test_leaderboard_is_printed(run_cli: RunCli, sample: Meeting) -> None:
    pk = str(sample.tournament.pk)
    code, _, err = run_cli("judge", "board", pk)
    assert code == NOT_FOUND and "has not been computed yet" in err
    add_judge_verdicts(sample.tournament, rubric("helpfulness"), Outcome.A)
    assert boards.compute_due_boards() >= 1
    code, out, _ = run_cli("judge", "board", pk, "--criterion", "helpfulness")
    assert code == 0 and out.splitlines()[0].split() == ["contestant", "rating", "low", "high", "win_rate", "votes"]
    assert "100 %" in out and out.splitlines()[-1].startswith("helpfulness: 1 votes, 0 newer; hash ")
    assert json.loads(run_cli("judge", "board", pk, "--json")[1])["criterion"] == "helpfulness"


def test_invalid_arguments_are_reported(run_cli: RunCli, sample: Meeting) -> None:
    pk = str(sample.tournament.pk)
    for arguments in (
        ("ls", pk), ("show",), ("start", pk), ("board", pk, "--criterion", "a", "--criterion", "b"),
        ("show", pk, "--cap", "1"), ("board", pk, "--criterion", "wit"), ("start", pk, "--judge", "999"),
    ):  # fmt: skip
        assert run_cli("judge", *arguments)[0] == BAD_INPUT, arguments
    assert run_cli("judge", "start", pk, "--judge", "nobody")[0] == NOT_FOUND
    assert run_cli("judge", "show", "999")[0] == NOT_FOUND
