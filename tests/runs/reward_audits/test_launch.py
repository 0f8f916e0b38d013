"""Audits are launched from the launch form, from a training's page and over the API, and run on the local cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from runs.launching.config_form import LaunchForm, initial_from
from runs.models import Cluster, Experiment, RewardAttack, Run
from tests.runs.api_client import calls
from tests.runs.audit_runs import complete_audit
from tests.runs.full_runs import make_run
from tests.runs.local_cluster import tick_until
from workers.config import preset
from workers.executors.states import State

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


def posted(**changes: str) -> dict[str, str]:
    """Return the fields of a launch form as a browser sends them."""
    filled = {**initial_from(preset("es-micro").config), "preset": "es-micro", "seeds": "0", **changes}
    form = LaunchForm(initial=filled)
    values = {name: form[name].value() for name in form.fields}
    return {name: str(value) for name, value in values.items() if value not in (None, False, "")}


def send(client: Client, experiment: Experiment, route: str, **changes: str) -> str:
    reply = client.post(reverse(route, args=[experiment.pk]), posted(**changes), headers=HTMX)
    assert reply.status_code == 200, reply.content.decode()[:500]
    return " ".join(reply.content.decode().split())


def test_form_offers_the_audit_of_its_task(ada_client: Client, experiment: Experiment, local: Cluster) -> None:
    text = ada_client.get(reverse("launch", args=[experiment.pk])).content.decode()
    assert "Audit the reward" in text and reverse("launch-audit", args=[experiment.pk]) in text
    assert "not audited yet" in send(ada_client, experiment, "launch-audit-line")
    complete_audit(experiment)
    line = send(ada_client, experiment, "launch-audit-line")
    assert "<strong>75" in line and "every 3s" not in line
    assert "not audited yet" in send(ada_client, experiment, "launch-audit-line", **{"task.name": "choice"})
    assert "<button" not in send(ada_client, experiment, "launch-audit-line", method="scorer")


def test_button_launches_one_audit_of_the_task_alone(
    ada_client: Client, experiment: Experiment, local: Cluster
) -> None:
    changes = {"task.name": "countdown", "compute.gpus": "2", "seeds": "3, 4"}
    line = send(ada_client, experiment, "launch-audit", **changes)
    audit = Run.objects.get()
    config = audit.run_config
    assert (audit.method, audit.name, audit.seed, config.task.name) == ("audit", "audit countdown", 0, "countdown")
    assert config.compute.gpus == 0 and config.es is None and not config.needs_torch
    assert "is being audited" in line and "every 3s" in line
    send(ada_client, experiment, "launch-audit", **changes)
    assert Run.objects.count() == 1, "an audit of this task is under way"


def test_button_without_scripts_leads_to_the_audit_and_problems_are_named(
    ada_client: Client, experiment: Experiment, local: Cluster
) -> None:
    address = reverse("launch-audit", args=[experiment.pk])
    assert ada_client.post(address, posted()).headers["Location"] == Run.objects.get().get_absolute_url()
    bad = posted(**{"task.name": "own", "task.own.path": "nowhere"})
    reply = ada_client.post(address, bad)
    assert reply.status_code == 400 and "cannot be audited yet" in reply.content.decode()
    assert Run.objects.count() == 1


def test_other_user_may_not_audit_in_the_experiment(experiment: Experiment, local: Cluster) -> None:
    client = Client()
    client.force_login(User.objects.create_user("bob"))
    for route in ("launch-audit", "launch-audit-line"):
        assert client.post(reverse(route, args=[experiment.pk]), posted()).status_code == 403


def test_form_of_a_trainings_audit_has_its_task_model_and_cluster(
    ada_client: Client, experiment: Experiment, local: Cluster
) -> None:
    training = make_run(experiment, "es-micro")
    text = ada_client.get(reverse("launch", args=[experiment.pk]), {"audit": training.uid}).content.decode()
    form = LaunchForm({"method": "audit", "task.name": "conciseness", "seeds": "0"})
    assert form.is_valid() and form.names() == ["audit conciseness"]
    assert 'name="audit.prompts"' in text and 'value="audit"' in text


def test_audit_of_the_api_succeeds_on_the_local_cluster(
    ada: User, ada_client: Client, experiment: Experiment, local: Cluster, tmp_path: Path, settings: Settings
) -> None:
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"
    config = {"method": "audit", "task": {"name": "choice"}, "audit": {"prompts": 8}}
    body = {"experiment": experiment.pk, "config": config}
    reply = calls(ada).post("/api/v1/runs", body, content_type="application/json")
    assert reply.status_code == 201, reply.content
    run = Run.objects.get(uid=reply.json()["uid"])
    attempt = tick_until(run, State.SUCCEEDED.value, State.FAILED.value)
    assert attempt.state == State.SUCCEEDED.value, attempt.reason
    assert "exploitability:" in (attempt.directory / "log.txt").read_text()
    assert "Show 1 audit" in ada_client.get(experiment.get_absolute_url()).content.decode()
    assert not RewardAttack.objects.exists() or RewardAttack.objects.filter(run=run).count() > 20
