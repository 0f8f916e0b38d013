"""`manage.py judges`: the whole way from a gold file to a calibrated judge's verdicts, without a page."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from judging.models import GoldSet, Tournament, Verdict
from runs.models import Experiment
from tests.cases import each_case
from tests.fakes.judge_server import KEY, JudgeRequest, JudgeServer
from tests.judging.judge_factory import make_judge
from tests.judging.tournament_factory import make_tournament, rubric

pytestmark = pytest.mark.django_db
ANSWERS = {"prompt": "p", "response_0": "long answer", "response_1": "no"}
PUBLISHED = ANSWERS | {"better_response_id": 0, "safer_response_id": 1}


def requests_in_order(lines: list[dict[str, Any]], server: JudgeServer) -> list[JudgeRequest]:
    """Return the server's requests in the order of the transcript."""
    by_body = {json.dumps(request.body, sort_keys=True): request for request in server.requests}
    return [by_body[json.dumps(line["sent"], sort_keys=True)] for line in lines]


def run_judges(*arguments: object) -> str:
    out = io.StringIO()
    call_command("judges", *map(str, arguments), stdout=out)
    return out.getvalue()


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    return make_tournament(ada, experiment, prompts=1)


def test_from_gold_to_verdicts(ada: User, tournament: Tournament, tmp_path: Path) -> None:
    file = tmp_path / "people.jsonl"
    own = {"prompt": "p", "response_a": "no", "response_b": "long answer", "expected": {"helpfulness": "b"}}
    file.write_text("\n".join(map(json.dumps, [PUBLISHED, own])))
    assert "2 pairs" in run_judges("gold", file, "--owner", "ada")
    gold = GoldSet.objects.get()
    assert [pair.expected for pair in gold.pairs.order_by("place")] == [
        {"helpfulness": "a", "harmlessness": "b"}, {"helpfulness": "b"},
    ]  # fmt: skip
    with JudgeServer() as server:
        judge = make_judge(server, ada)
        assert str(judge.pk) in run_judges("list")
        begun = run_judges("calibrate", judge.pk, gold.pk, "--cap", "100", "--criterion", "helpfulness")
        assert "4 questions" in begun
        assert "done: 4 of 4 asked: 4 judged" in run_judges("work", begun.split()[1].strip(":"))
        assert judge.calibrations.get().measured["accuracy"]["value"] == 1.0
        begun = run_judges("start", judge.pk, tournament.pk, "--cap", "100", "--one-order")
        number = begun.split()[1].strip(":")
        run_judges("pause", number)
        run_judges("go-on", number, "--cap", "200")
        assert "done: 6 of 6 asked" in run_judges("work", number) and "spent of 200" in run_judges("standing", number)
        lines = [json.loads(line) for line in run_judges("transcript", number).splitlines()]
        assert len(lines) == 6 and KEY not in json.dumps(lines)
        assert [line["sent"] for line in lines] == [request.body for request in requests_in_order(lines, server)]
        assert {line["parser"] for line in lines} == {"json"} and lines[0]["model_a"] != lines[0]["model_b"]
    assert "12 verdicts by rules" in run_judges("rules", tournament.pk)
    assert Verdict.objects.current().count() == 18


def test_invalid_gold_file_is_refused_with_line(ada: User, tmp_path: Path) -> None:
    file = tmp_path / "people.jsonl"
    file.write_text("[1]")
    with pytest.raises(CommandError, match="Line 1 is not a JSON object"):
        run_judges("gold", file, "--owner", "ada")
    assert not GoldSet.objects.exists()


@each_case(
    ("arguments", "reason"),
    [
        (["gold", "/nowhere", "--owner", "ada"], "cannot be read"),
        (["gold", "/nowhere", "--owner", "eve"], "no user named 'eve'"),
        (["standing", "9"], "There is no assignment 9"),
        (["rules", "9"], "There is no tournament 9"),
        (["start", "9", "9", "--cap", "-1"], "invalid _amount value"),
    ],
)
def test_judges_command_reports_missing_objects(ada: User, arguments: list[str], reason: str) -> None:
    rubric("helpfulness")
    with pytest.raises(CommandError, match=reason):
        run_judges(*arguments)
