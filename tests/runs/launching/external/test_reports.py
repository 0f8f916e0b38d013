"""Programs elsewhere send heartbeats and report their end, late, twice and with wrong clocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from runs import access
from runs.experiments import trash
from runs.models import ApiToken, Attempt, Experiment, Run
from tests.cases import each_case
from tests.runs.api_client import calls, paths
from tests.runs.attempt_records import make_attempt, make_run
from tests.runs.launching.external.programs import post, start


def test_program_reports_from_start_to_end(ada: User) -> None:
    program = start(ada)
    assert program.push(1, 2).json() == {"kept": 2, "next_seq": 2}
    assert program.heartbeat().json() == {"state": "running", "lost_after_seconds": 300}
    assert program.end(exit_code=0, summary={"best": 1}).json() == {"state": "succeeded"}
    attempt = program.attempt
    assert (attempt.state, attempt.exit_code, attempt.run.state) == ("succeeded", 0, "succeeded")
    assert attempt.ended_at is not None and attempt.run.external.summary == {"best": 1}
    states = [event.to_state for event in attempt.events.order_by("pk")]
    assert states == ["running", "succeeded"]


def test_heartbeat_merges_its_news(ada: User) -> None:
    program = start(ada, config={"a": {"b": 1}}, tags=["a"])
    program.heartbeat(summary={"best": 1, "last": {"x": 1}})
    news = {"config": {"a": {"c": 2}}, "summary": {"last": {"y": 2}}, "name": "New", "tags": ["b"], "note": "n"}
    assert program.heartbeat(**news).status_code == 200
    run = program.run
    assert (run.config, run.external.summary) == ({"a": {"b": 1, "c": 2}}, {"best": 1, "last": {"x": 1, "y": 2}})
    assert (run.name, run.tags, run.note) == ("New", ["a", "b"], "n")
    program.heartbeat()
    assert program.run.name == "New"


def test_heartbeat_without_body_is_accepted(ada: User) -> None:
    program = start(ada)
    assert program.client.generic("POST", f"/api/v1/attempts/{program.key}/heartbeat").status_code == 200
    assert program.client.generic("POST", f"/api/v1/attempts/{program.key}/end").json() == {"state": "succeeded"}


@each_case(
    ("body", "path"),
    [
        ({"config": {"a": "\x00"}}, "news.config"),
        ({"tags": ["t"] * 3, "state": "running"}, "news.state"),
        ({"tags": [str(n) for n in range(51)]}, "news.tags"),
    ],
)
def test_unusable_news_is_refused(ada: User, body: dict[str, Any], path: str) -> None:
    program = start(ada)
    refused = program.heartbeat(**body)
    assert refused.status_code == 422 and paths(refused).keys() == {path}
    assert program.run.external.summary == {} and program.run.tags == ["a"]


@each_case(
    "body", [{"state": "running"}, {"state": "lost"}, {"exit_code": 2**31}, {"ended_at": float("inf")}, {"why": ""}]
)
def test_unusable_end_is_refused(ada: User, body: dict[str, Any]) -> None:
    program = start(ada)
    assert program.end(**body).status_code == 422
    assert program.attempt.state == "running"


def test_end_is_safe_to_repeat_and_the_first_counts(ada: User) -> None:
    program = start(ada)
    program.end(state="failed", reason="CUDA out of memory", exit_code=1)
    assert program.end(summary={"best": 2}).json() == {"state": "failed"}
    assert program.heartbeat().json()["state"] == "failed"
    attempt = program.attempt
    assert (attempt.state, attempt.reason, attempt.exit_code) == ("failed", "CUDA out of memory", 1)
    assert attempt.run.external.summary == {}


def test_push_after_the_end_is_stored_for_a_day(ada: User) -> None:
    program = start(ada)
    program.push(1)
    program.end()
    assert program.push(2, seq=1).json() == {"kept": 1, "next_seq": 2}
    expires_at = ApiToken.objects.get(run=program.run).expires_at
    assert timedelta(hours=23) < expires_at - timezone.now() <= timedelta(days=1)
    assert program.attempt.state == "succeeded"


def test_late_end_of_a_lost_attempt_counts(ada: User) -> None:
    program = start(ada)
    Attempt.objects.update(state="lost", ended_at=timezone.now())
    Run.objects.update(state="lost")
    assert program.end(state="cancelled").json() == {"state": "cancelled"}
    assert program.run.state == "cancelled"


def test_end_of_a_former_attempt_leaves_the_run_running(ada: User) -> None:
    first, second = start(ada), start(ada, start="s2")
    Attempt.objects.filter(n=1).update(state="lost")
    assert first.end(state="failed").json() == {"state": "failed"}
    assert second.run.state == "running"


def test_heartbeat_revives_a_lost_attempt_if_it_is_the_newest(ada: User) -> None:
    first, second = start(ada), start(ada, start="s2")
    Attempt.objects.update(state="lost", ended_at=timezone.now())
    Run.objects.update(state="lost")
    assert first.heartbeat().json()["state"] == "lost"
    assert second.run.state == "lost"
    assert second.heartbeat().json()["state"] == "running"
    assert (second.attempt.ended_at, second.run.state) == (None, "running")


def test_end_time_is_between_the_start_and_now(ada: User) -> None:
    ends = {}
    for name, ended_at in {"early": 1.6e9, "plausible": 1_700_000_100.0, "future": 9e12}.items():
        program = start(ada, id=name, started_at=1.7e9)
        program.end(ended_at=ended_at)
        ends[name] = program.attempt.ended_at
    assert ends["early"] == datetime.fromtimestamp(1.7e9, tz=UTC)
    assert ends["plausible"] == datetime.fromtimestamp(1_700_000_100, tz=UTC)
    assert ends["future"] is not None and ends["future"] <= timezone.now()


def test_time_of_another_unit_is_reported_and_not_stored(ada: User) -> None:
    program = start(ada, started_at=1.7e12)
    (problem,) = program.created["problems"]
    assert problem["path"] == "started_at" and "looks like milliseconds (ms), not Unix seconds" in problem["message"]
    again = start(ada, start="s2", started_at=-5.0)
    assert again.attempt.n == 2
    (problem,) = again.end(ended_at=1.7e18).json()["problems"]
    assert problem["path"] == "ended_at" and "nanoseconds (ns)" in problem["message"]
    began, ended = again.attempt.started_at, again.attempt.ended_at
    assert began is not None and ended is not None and began <= ended <= timezone.now()
    assert again.attempt.events.filter(why__startswith="ended_at: ", level="warning").count() == 1


@pytest.mark.parametrize("report", ["heartbeat", "end"])
def test_launched_attempt_is_not_reported_on(ada: User, experiment: Experiment, report: str) -> None:
    attempt = make_attempt(make_run(experiment))
    refused = post(calls(ada, "ingest", run=attempt.run), f"attempts/{attempt.key}/{report}")
    assert refused.status_code == 409 and "no external run" in refused.json()["detail"]


@pytest.mark.parametrize("report", ["heartbeat", "end"])
def test_only_the_token_of_the_run_reports(ada: User, bo: User, report: str) -> None:
    program, other = start(ada), start(ada, id="other")
    address = f"attempts/{program.key}/{report}"
    assert post(other.client, address).status_code == 404
    assert post(calls(bo, "admin"), address).status_code == 404
    assert post(calls(ada, "report"), address).status_code == 403
    assert post(Client(), address).status_code == 401
    ApiToken.objects.filter(run=program.run).update(expires_at=timezone.now())
    assert post(program.client, address).status_code == 401
    assert program.attempt.state == "running"


def test_run_in_the_trash_takes_no_reports(ada: User) -> None:
    program = start(ada)
    trash.delete_run(program.run, ada)
    assert program.heartbeat().status_code == program.end().status_code == 404


def test_former_viewer_still_reports_a_run(ada: User) -> None:
    program = start(ada)
    access.give_role(ada, "viewer")
    assert program.heartbeat().status_code == 200


def test_end_that_is_reported_after_the_next_start_is_stored(ada: User) -> None:
    first = start(ada, start="s1")
    second = start(ada, start="s2")
    assert first.attempt.state == "interrupted"
    assert first.end(state="succeeded").json() == {"state": "succeeded"}
    assert (first.attempt.state, second.attempt.state, second.run.state) == ("succeeded", "running", "running")
    assert first.end(state="failed").json() == {"state": "succeeded"}
