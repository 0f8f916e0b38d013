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
from runs.launching import create_due_restarts, plan_restart, queue, rebuilds, submit_job
from runs.launching.submit import prepare, spec_of
from runs.models import ApiToken, Attempt, Cluster, Experiment, Run, ScorerSecret, checkpoint_folder
from tests.runs.api_client import calls, paths
from tests.runs.full_runs import make_run
from workers.config import RunConfig, preset
from workers.config.resources import RUN_CHECKPOINT
from workers.executors.states import State

PATH = "/srv/runs/abcdefghjk/esweb-abcdefghjk-a1/checkpoints/step-000005"


@pytest.fixture
def stored_run(experiment: Experiment, local: Cluster, runs_dir: Path) -> Run:
    """Return a failed run whose model is a path: it was stored before the rules existed."""
    run = make_run(experiment, "es-micro", state=State.FAILED)
    run.config = with_model(run.config, PATH)
    run.save()
    return run


def with_model(config: dict[str, Any], model: str) -> dict[str, Any]:
    return RunConfig.from_json({**config, "model": {"path": model}}).to_json()


def make_checkpoint(run: Run, step: int) -> Path:
    attempt = run.newest_attempt()
    assert attempt is not None
    folder = checkpoint_folder(attempt.directory, step)
    folder.mkdir(parents=True)
    return folder


def test_resume_is_refused_with_alternative(stored_run: Run) -> None:
    with pytest.raises(launching.CannotResume, match="this one is run:abcdefghjk@5"):
        launching.create_resume_attempt(stored_run)
    assert stored_run.attempts.count() == 1


def test_restart_is_refused(stored_run: Run, local: Cluster) -> None:
    stored_run.config["compute"]["restarts"] = 1
    stored_run.save()
    attempt = stored_run.attempts.get()
    plan_restart(attempt)
    stored_run.attempts.update(restart_at="2020-01-01T00:00:00Z")
    assert create_due_restarts(local) == []
    assert "not restarted automatically: model.path" in attempt.events.latest("pk").why


def test_rebuild_is_refused(stored_run: Run) -> None:
    with pytest.raises(rebuilds.CannotRebuild, match=r"model\.path"):
        rebuilds.rebuild_checkpoint(stored_run, 0, stored_run.created_by)


def test_move_is_refused(experiment: Experiment, local: Cluster) -> None:
    Cluster.objects.create(name="big", kind="local")
    run = make_run(experiment, "es-micro", state=State.CREATED)
    run.config = with_model(run.config, PATH)
    run.save()
    with pytest.raises(ValueError, match=r"model\.path"):
        queue.move_run(run, "big", run.created_by)


def test_submit_fails_before_writing_files(experiment: Experiment, runs_dir: Path) -> None:
    run = make_run(experiment, "es-micro", state=State.CREATED)
    Run.objects.filter(pk=run.pk).update(config=with_model(run.config, PATH))
    attempt = Attempt.objects.get(run=run)
    submit_job(attempt)
    attempt.refresh_from_db()
    assert attempt.state == State.FAILED.value and attempt.reason.startswith("not submitted: model.path: must be")
    assert not attempt.directory.exists()


def test_only_visible_checkpoints_are_models(
    ada: User, bo: User, experiment: Experiment, private_experiment: Experiment, local: Cluster, runs_dir: Path
) -> None:
    """A hidden run is refused with the message for a missing run; a step that was not saved is refused too."""
    source, secret = make_run(experiment, "es-micro"), make_run(private_experiment, "es-micro")
    folder, _ = make_checkpoint(source, 5), make_checkpoint(secret, 5)
    own_experiment = Experiment.objects.create(name="Bo's", owner=bo)
    script = calls(bo)

    def launch_with_model(model: str) -> Any:
        body = {"experiment": own_experiment.pk, "preset": "es-micro", "config": {"model": {"path": model}}}
        return script.post("/api/v1/runs", body, content_type="application/json")

    response = launch_with_model(f"run:{source.uid}@5")
    assert response.status_code == 201
    attempt = Attempt.objects.get(run__uid=response.json()["uid"])
    env = spec_of(attempt).env
    assert env is not None and (attempt.directory / env[RUN_CHECKPOINT]).resolve() == folder.resolve()
    hidden, missing = (paths(launch_with_model(f"run:{uid}@5"))["model.path"] for uid in (secret.uid, "abcdefghjk"))
    assert hidden.replace(secret.uid, "abcdefghjk") == missing == "names run:abcdefghjk@5, but you see no such run"
    assert "it saved 5" in paths(launch_with_model(f"run:{source.uid}@6"))["model.path"]


def test_run_does_not_start_when_model_became_private(
    ada: User, bo: User, experiment: Experiment, local: Cluster, runs_dir: Path
) -> None:
    source = make_run(experiment, "es-micro")
    make_checkpoint(source, 5)
    own_experiment = Experiment.objects.create(name="Bo's", owner=bo)
    config = with_model(preset("es-micro").config, f"run:{source.uid}@5")
    attempt = launching.create_run(
        experiment=own_experiment, person=bo, config=RunConfig.from_json(config)
    ).newest_attempt()
    Experiment.objects.filter(pk=experiment.pk).update(is_private=True)
    assert attempt is not None
    submit_job(attempt)
    attempt.refresh_from_db()
    assert attempt.state == State.FAILED.value and "you see no such run" in attempt.reason


def test_clone_form_omits_manual_settings(ada_client: Client, stored_run: Run) -> None:
    stored_run.config["tracking"] |= {"push_url": "http://eve.example", "token_file": "../../../admin-password"}
    stored_run.save()
    page = ada_client.get(
        reverse("launch", args=[stored_run.experiment.pk]) + f"?clone={stored_run.uid}"
    ).content.decode()
    assert "Omitted: tracking.token_file: " in page and 'name="tracking.token_file"' not in page


def test_run_gets_secret_in_private_file(ada: User, experiment: Experiment, local: Cluster, runs_dir: Path) -> None:
    access.save_secret(ada, "beaver", "the-scorers-own-token", address="http://127.0.0.1:8000")
    task = {"name": "safety", "options": {"scorer": "beaver"}}
    config = {**preset("es-micro").config, "task": task}
    attempt = launching.create_run(
        experiment=experiment, person=ada, config=RunConfig.from_json(config)
    ).newest_attempt()
    assert attempt is not None
    prepare(attempt)
    file = attempt.directory / "scorer-token"
    assert file.read_text() == "the-scorers-own-token" and file.stat().st_mode & 0o777 == 0o600
    env = spec_of(attempt).env
    assert env is not None and env["ESWEB_RUN_SCORER"] == "http://127.0.0.1:8000"
    written = (attempt.directory / "run.json").read_text() + str(env) + str(attempt.run.config)
    assert "the-scorers-own-token" not in written
    assert b"the-scorers-own-token" not in bytes(ScorerSecret.objects.get().sealed)


def test_attempt_has_run_token_until_it_ends(ada: User, experiment: Experiment, local: Cluster, runs_dir: Path) -> None:
    local.config = {"site_url": "http://127.0.0.1:8000"}
    local.save()
    attempt = launching.create_run(
        experiment=experiment, person=ada, config=RunConfig.from_json(preset("es-micro").config)
    ).newest_attempt()
    assert attempt is not None
    prepare(attempt)
    file = attempt.directory / "site-token"
    assert file.stat().st_mode & 0o777 == 0o600
    client = Client(headers={"authorization": f"Bearer {file.read_text()}"})
    line = '{"kind":"status","seq":0,"t":1.0,"phase":"loading","message":"","progress":null}\n'
    response = client.post(f"/api/v1/attempts/{attempt.key}/records", line, content_type="application/jsonl")
    assert response.status_code == 200, response.content
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
    assert launching.transition(attempt, State.CANCELLED, "for a test")
    assert not ApiToken.objects.filter(scope="run").exists()
    assert client.get("/api/v1/services").status_code == 401


def test_run_scope_token_cannot_be_issued(ada: User, ada_client: Client, settings: Settings) -> None:
    with pytest.raises(access.CannotIssue):
        access.issue(ada, "run")
    assert ada_client.post(reverse("settings-tokens"), {"name": "x", "scope": "run", "days": 1}).status_code == 400
    response = calls(ada, "admin").post("/api/v1/tokens", {"scope": "run"}, content_type="application/json")
    assert response.status_code == 422
