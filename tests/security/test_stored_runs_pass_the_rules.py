"""Every start of a stored run passes the rules of a launch: resume, restart, move, rebuild, submit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from runs import access, launching
from runs.launching import plan_restart, queue, rebuilds, restart_due, submit_job
from runs.launching.submit import prepare, spec_of
from runs.models import ApiToken, Attempt, Cluster, Experiment, Run, ScorerSecret, checkpoint_folder
from tests.runs.api_client import calls, paths
from tests.runs.full_runs import make_run
from workers.config import RunConfig, preset
from workers.config.resources import RUN_CHECKPOINT
from workers.executors.states import State

PATH = "/srv/runs/abcdefghjk/esweb-abcdefghjk-a1/checkpoints/step-000005"


@pytest.fixture
def stored(experiment: Experiment, local: Cluster, runs_dir: Path) -> Run:
    """Return a run that has failed, and whose model is a path: it was stored before there were rules."""
    run = make_run(experiment, "es-micro", state=State.FAILED)
    run.config = named(run.config, PATH)
    run.save()
    return run


def named(config: dict[str, Any], model: str) -> dict[str, Any]:
    return RunConfig.from_json({**config, "model": {"path": model}}).to_json()


def saved(run: Run, step: int) -> Path:
    attempt = run.newest_attempt()
    assert attempt is not None
    folder = checkpoint_folder(attempt.directory, step)
    folder.mkdir(parents=True)
    return folder


def test_resume_is_refused_and_names_what_to_use_instead(stored: Run) -> None:
    with pytest.raises(launching.CannotResume, match="this one is run:abcdefghjk@5"):
        launching.create_resume_attempt(stored)
    assert stored.attempts.count() == 1


def test_restart_is_refused(stored: Run, local: Cluster) -> None:
    stored.config["compute"]["restarts"] = 1
    stored.save()
    attempt = stored.attempts.get()
    plan_restart(attempt)
    stored.attempts.update(restart_at="2020-01-01T00:00:00Z")
    assert restart_due(local) == []
    assert "not started again by itself: model.path" in attempt.events.latest("pk").why


def test_rebuild_is_refused(stored: Run) -> None:
    with pytest.raises(rebuilds.CannotRebuild, match=r"model\.path"):
        rebuilds.rebuild_checkpoint(stored, 0, stored.created_by)


def test_move_is_refused(experiment: Experiment, local: Cluster) -> None:
    Cluster.objects.create(name="big", kind="local")
    run = make_run(experiment, "es-micro", state=State.CREATED)
    run.config = named(run.config, PATH)
    run.save()
    with pytest.raises(ValueError, match=r"model\.path"):
        queue.move_run(run, "big", run.created_by)


def test_submit_fails_the_attempt_before_anything_is_written(experiment: Experiment, runs_dir: Path) -> None:
    run = make_run(experiment, "es-micro", state=State.CREATED)
    Run.objects.filter(pk=run.pk).update(config=named(run.config, PATH))
    attempt = Attempt.objects.get(run=run)
    submit_job(attempt)
    attempt.refresh_from_db()
    assert attempt.state == State.FAILED.value and attempt.reason.startswith("not submitted: model.path: must be")
    assert not attempt.directory.exists()


def test_checkpoint_of_a_visible_run_is_a_model(
    ada: User, bo: User, experiment: Experiment, private_experiment: Experiment, local: Cluster, runs_dir: Path
) -> None:
    """What a person may not see is refused in the words of what there is not; so is a step that was not saved."""
    source, secret = make_run(experiment, "es-micro"), make_run(private_experiment, "es-micro")
    folder, _ = saved(source, 5), saved(secret, 5)
    mine = Experiment.objects.create(name="Bo's", owner=bo)
    script = calls(bo)

    def answer(model: str) -> Any:
        sent = {"experiment": mine.pk, "preset": "es-micro", "config": {"model": {"path": model}}}
        return script.post("/api/v1/runs", sent, content_type="application/json")

    made = answer(f"run:{source.uid}@5")
    assert made.status_code == 201
    attempt = Attempt.objects.get(run__uid=made.json()["uid"])
    env = spec_of(attempt).env
    assert env is not None and (attempt.directory / env[RUN_CHECKPOINT]).resolve() == folder.resolve()
    hidden, missing = (paths(answer(f"run:{uid}@5"))["model.path"] for uid in (secret.uid, "abcdefghjk"))
    assert hidden.replace(secret.uid, "abcdefghjk") == missing == "names run:abcdefghjk@5, and you see no such run"
    assert "it saved 5" in paths(answer(f"run:{source.uid}@6"))["model.path"]


def test_run_whose_model_became_private_does_not_start(
    ada: User, bo: User, experiment: Experiment, local: Cluster, runs_dir: Path
) -> None:
    source = make_run(experiment, "es-micro")
    saved(source, 5)
    mine = Experiment.objects.create(name="Bo's", owner=bo)
    config = named(preset("es-micro").config, f"run:{source.uid}@5")
    attempt = launching.create_run(experiment=mine, person=bo, config=config).newest_attempt()
    Experiment.objects.filter(pk=experiment.pk).update(is_private=True)
    assert attempt is not None
    submit_job(attempt)
    attempt.refresh_from_db()
    assert attempt.state == State.FAILED.value and "you see no such run" in attempt.reason


def test_clone_form_leaves_out_what_only_a_hand_started_run_may_set(ada_client: Client, stored: Run) -> None:
    stored.config["tracking"] |= {"push_url": "http://eve.example", "token_file": "../../../admin-password"}
    stored.save()
    page = ada_client.get(reverse("launch", args=[stored.experiment.pk]) + f"?clone={stored.uid}").content.decode()
    assert "Left out: tracking.token_file: " in page and 'name="tracking.token_file"' not in page


def test_run_gets_the_token_of_a_secret_in_a_private_file(
    ada: User, experiment: Experiment, local: Cluster, runs_dir: Path
) -> None:
    access.save_secret(ada, "beaver", "the-scorers-own-token", address="http://127.0.0.1:8000")
    task = {"name": "safety", "options": {"scorer": "beaver"}}
    config = {**preset("es-micro").config, "task": task}
    attempt = launching.create_run(experiment=experiment, person=ada, config=config).newest_attempt()
    assert attempt is not None
    prepare(attempt)
    file = attempt.directory / "scorer-token"
    assert file.read_text() == "the-scorers-own-token" and file.stat().st_mode & 0o777 == 0o600
    env = spec_of(attempt).env
    assert env is not None and env["ESWEB_RUN_SCORER"] == "http://127.0.0.1:8000"
    written = (attempt.directory / "run.json").read_text() + str(env) + str(attempt.run.config)
    assert "the-scorers-own-token" not in written
    assert b"the-scorers-own-token" not in bytes(ScorerSecret.objects.get().sealed)


def test_attempt_gets_a_token_of_its_run_until_it_ends(
    ada: User, experiment: Experiment, local: Cluster, runs_dir: Path
) -> None:
    local.config = {"site_url": "http://127.0.0.1:8000"}
    local.save()
    attempt = launching.create_run(experiment=experiment, person=ada, config=preset("es-micro").config).newest_attempt()
    assert attempt is not None
    prepare(attempt)
    file = attempt.directory / "site-token"
    assert file.stat().st_mode & 0o777 == 0o600
    client = Client(headers={"authorization": f"Bearer {file.read_text()}"})
    line = '{"kind":"status","seq":0,"t":1.0,"phase":"loading","message":"","progress":null}\n'
    pushed = client.post(f"/api/v1/attempts/{attempt.key}/records", line, content_type="application/jsonl")
    assert pushed.status_code == 200, pushed.content
    assert client.get("/api/v1/services").status_code == 200
    other = make_run(experiment, "es-micro").newest_attempt()
    assert other is not None
    for address in ("runs", f"runs/{attempt.run.uid}", "experiments", "me", "tokens"):
        assert client.get(f"/api/v1/{address}").status_code == 403, address
    assert client.post(f"/api/v1/attempts/{other.key}/records", line, content_type="application/jsonl").status_code in (
        403, 404,
    )  # fmt: skip
    offer = {"kind": "scorer", "name": "eve", "instance": "0123456789", "address": "http://127.0.0.1:1"}
    registered = client.post("/api/v1/services", offer, content_type="application/json")
    assert registered.status_code == 422 and "its config registers no service" in paths(registered)["name"]
    assert launching.move(attempt, State.CANCELLED, "for a test")
    assert not ApiToken.objects.filter(scope="run").exists()
    assert client.get("/api/v1/services").status_code == 401


def test_nobody_is_given_a_token_of_scope_run(ada: User, ada_client: Client, settings: Settings) -> None:
    with pytest.raises(access.CannotIssue):
        access.issue(ada, "run")
    assert ada_client.post(reverse("settings-tokens"), {"name": "x", "scope": "run", "days": 1}).status_code == 400
    answer = calls(ada, "admin").post("/api/v1/tokens", {"scope": "run"}, content_type="application/json")
    assert answer.status_code == 422
