"""External runs are created by one call, which may be repeated; each start of the program is an attempt."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone

from runs import access
from runs.experiments import trash
from runs.models import ApiToken, Attempt, Experiment, KeptAnswer, Run
from tests.runs.api_client import calls, paths
from tests.runs.attempt_records import make_run
from tests.runs.launching.external.programs import NEW, create, post, start


def test_run_is_created_with_what_its_program_reports(ada: User) -> None:
    created = start(ada, started_at=1_700_000_000.0).created
    assert {
        "kind": "external",
        "state": "running",
        "method": "grpo",
        "seed": 3,
        "preset": "lr",
        "name": "train-7",
    }.items() <= created.items()
    assert created["config"] == NEW["config"] and created["tags"] == ["a"] and created["note"] == "first"
    run = Run.objects.get(uid=created["uid"])
    assert (run.experiment.name, run.experiment.owner, run.created_by) == ("conciseness", ada, ada)
    attempt = run.attempts.get()
    assert (attempt.key, attempt.native_id) == (f"esweb-{run.uid}-a1", "s1")
    assert attempt.started_at == datetime.fromtimestamp(1_700_000_000, tz=UTC)
    detail = calls(ada, "read").get(f"/api/v1/runs/{run.uid}").json()
    assert detail["external"] == {
        "program": "esweb_client 0.1.0", "host": "node7", "command": "train.py --lr 1e-5", "summary": {},
        "git": {"commit": "ab12", "branch": "main", "remote": "https://git.example.org/lab.git", "dirty": True},
        "lost_after_seconds": 300,
    }  # fmt: skip


def test_token_is_bound_to_the_run_and_stored_as_digest(ada: User) -> None:
    program = start(ada)
    token = ApiToken.objects.get(digest=access.digest(program.created["token"]))
    assert (token.scope, token.run, token.name) == ("ingest", program.run, program.key)
    assert timedelta(days=89) < token.expires_at - timezone.now() <= timedelta(days=90)
    assert program.client.get("/api/v1/runs").status_code == 403


def test_project_alone_is_enough(ada: User) -> None:
    response = post(calls(ada, "report"), "runs", {"kind": "external", "project": "quick"})
    assert response.status_code == 201
    created = response.json()
    assert (created["method"], created["seed"], created["name"]) == ("unknown", -1, created["uid"])


def test_repeated_start_returns_the_same_attempt_with_a_new_token(ada: User) -> None:
    first, again = start(ada), start(ada, config={"lr": 2e-5, "model": {"path": "small"}}, tags=["b"])
    assert again.key == first.key and again.created["token"] != first.created["token"]
    assert Run.objects.count() == Attempt.objects.count() == Experiment.objects.count() == 1
    assert first.push(1).status_code == again.push(1).status_code == 200
    assert again.created["config"] == {"seed": 3, "lr": 2e-5, "model": {"path": "small"}}
    assert again.created["tags"] == ["a", "b"]


def test_new_start_is_the_next_attempt_and_interrupts_the_former(ada: User) -> None:
    first = start(ada)
    first.push(1, 2)
    second = start(ada, start="s2", host="node8", command="")
    assert (second.run, second.attempt.n) == (first.run, 2)
    assert (first.attempt.state, second.attempt.state, second.run.state) == ("interrupted", "running", "running")
    external = second.run.external
    assert (external.host, external.command) == ("node8", "train.py --lr 1e-5")
    second.push(2, 3)
    series = calls(ada, "read").get(f"/api/v1/series?run={first.run.uid}&key=loss").json()
    assert "3" in str(series) and Run.objects.count() == 1
    detail = calls(ada, "read").get(f"/api/v1/runs/{first.run.uid}").json()
    assert detail["latest"]["loss"] == 1.5
    assert [attempt["origin"] for attempt in detail["attempts"]] == ["external", "external"]


def test_start_after_the_end_runs_again(ada: User) -> None:
    first = start(ada)
    first.end(state="failed")
    second = start(ada, start="s2")
    assert (first.attempt.state, second.run.state) == ("failed", "running")


def test_start_without_a_name_is_always_new(ada: User) -> None:
    first, second = start(ada, start=""), start(ada, start="")
    assert (first.attempt.n, second.attempt.n) == (1, 2)


@pytest.mark.parametrize("client_id", ["", "train-7"])
def test_idempotency_key_names_the_start_and_stores_no_response(ada: User, client_id: str) -> None:
    client, body = calls(ada, "report"), NEW | {"id": client_id, "start": ""}
    responses = [post(client, "runs", body, **{"idempotency-key": key}) for key in ("k" * 200, "k" * 200, "other")]
    assert [response.status_code for response in responses] == [201, 201, 201]
    first, again, other = (response.json() for response in responses)
    assert first["attempt"] == again["attempt"] != other["attempt"] and first["token"] != again["token"]
    assert not KeptAnswer.objects.exists()
    assert "Idempotency-Key" in paths(post(client, "runs", body, **{"idempotency-key": "k" * 201}))


def test_uid_of_an_own_external_run_continues_it(ada: User) -> None:
    first = start(ada, id="")
    assert start(ada, id=first.run.uid, start="s2").run == first.run


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("starts", [("s1", "s1"), ("s1", "s2")], ids=["same start", "two starts"])
def test_simultaneous_calls_create_one_run(ada: User, starts: tuple[str, str]) -> None:
    client, barrier = calls(ada, "report"), Barrier(2)

    def call(start_id: str) -> Any:
        barrier.wait()
        try:
            return post(client, "runs", NEW | {"start": start_id})
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        responses = list(pool.map(call, starts))
    assert [response.status_code for response in responses] == [201, 201]
    assert (Experiment.objects.count(), Run.objects.count()) == (1, 1)
    assert Attempt.objects.count() == len(set(starts)) == len({response.json()["attempt"] for response in responses})
    assert Attempt.objects.open().count() == 1


def test_ids_of_two_users_are_independent(ada: User, bo: User) -> None:
    assert start(ada).run != start(bo).run


def test_experiment_of_another_user_is_refused(
    bo: User, experiment: Experiment, private_experiment: Experiment
) -> None:
    body = {"kind": "external", "experiment": experiment.pk}
    refused = post(calls(bo, "report"), "runs", body)
    assert refused.status_code == 403 and "belongs to ada" in refused.json()["detail"]
    hidden = post(calls(bo, "report"), "runs", body | {"experiment": private_experiment.pk})
    assert hidden.status_code == 404 and "Secret" not in hidden.content.decode()
    assert not Run.objects.exists()


def test_uid_of_another_run_is_refused_and_a_hidden_one_reveals_nothing(
    ada: User, bo: User, experiment: Experiment, private_experiment: Experiment
) -> None:
    launched, hidden = make_run(experiment), make_run(private_experiment, "hidden")
    for user in (ada, bo):
        refused = create(user, id=launched.uid)
        assert refused.status_code == 403 and launched.uid in refused.json()["detail"]
    assert create(bo, id=hidden.uid).status_code == create(bo, id="zzzzzzzzzz").status_code == 201


@pytest.mark.parametrize("in_trash", ["run", "experiment"])
def test_run_in_the_trash_is_restored_or_gets_another_id(ada: User, in_trash: str) -> None:
    run = start(ada).run
    if in_trash == "run":
        trash.delete_run(run, ada)
    else:
        trash.delete_experiment(run.experiment, ada)
    refused = create(ada, start="s2")
    assert refused.status_code == 409
    assert "Restore" in refused.json()["detail"] and "another id" in refused.json()["detail"]
    other = start(ada, id="train-8")
    assert other.run != run and other.run.experiment.deleted_at is None


def test_run_that_its_user_may_no_longer_see_is_not_continued(
    ada: User, bo: User, private_experiment: Experiment
) -> None:
    access.give_role(ada, "admin")
    access.give_role(bo, "admin")
    response = create(bo, project=None, experiment=private_experiment.pk)
    assert response.status_code == 201
    access.give_role(bo, "member")
    assert create(bo, start="s2").status_code == 403
    assert Attempt.objects.count() == 1


def test_viewer_creates_nothing(ada: User) -> None:
    client = calls(ada, "report")
    access.give_role(ada, "viewer")
    refused = post(client, "runs", NEW)
    assert refused.status_code == 403 and "viewer" in refused.json()["detail"]
    assert not Run.objects.exists()


def test_browser_creates_an_external_run(ada_client: Client) -> None:
    assert post(ada_client, "runs", NEW).status_code == 201


@pytest.mark.parametrize("kind", [{}, {"kind": "launched"}])
def test_report_token_launches_nothing(ada: User, kind: dict[str, str]) -> None:
    refused = post(calls(ada, "report"), "runs", {"experiment_name": "x", "preset": "es-micro"} | kind)
    assert refused.status_code == 403
    assert refused.json()["detail"] == "This token has scope report; this call needs launch or admin"
    assert not Run.objects.exists()


def test_kind_of_every_run_is_listed(ada: User, experiment: Experiment) -> None:
    launched, external = make_run(experiment), start(ada).run
    rows = calls(ada, "read").get("/api/v1/runs").json()["items"]
    assert {row["uid"]: row["kind"] for row in rows} == {launched.uid: "launched", external.uid: "external"}
    assert calls(ada, "read").get(f"/api/v1/runs/{launched.uid}").json()["external"] is None


def test_external_run_is_neither_cancelled_nor_resumed_nor_held_here(ada: User) -> None:
    program = start(ada)
    for action in ("cancel", "resume", "hold", "release"):
        refused = post(calls(ada), f"runs/{program.run.uid}/{action}")
        assert refused.status_code == 409, action
        assert "elsewhere" in refused.json()["detail"]
    assert program.attempt.state == "running" and program.attempt.cancel_requested_at is None


def test_earlier_start_does_not_interrupt_the_attempt_that_runs(ada: User) -> None:
    now = time.time()
    running = start(ada, start="s2", started_at=now)
    late = post(calls(ada, "report"), "runs", NEW | {"start": "s1", "started_at": now - 3600})
    assert late.status_code == 409 and f"Attempt {running.key} of this run started later" in late.json()["detail"]
    assert running.attempt.state == "running"
    running.end()
    assert start(ada, start="s1", started_at=now - 3600).attempt.n == 2


def test_experiment_in_the_trash_is_not_a_project(ada: User) -> None:
    first = start(ada).run.experiment
    Experiment.objects.filter(pk=first.pk).update(deleted_at=timezone.now())
    assert start(ada, id="train-8").run.experiment != first
