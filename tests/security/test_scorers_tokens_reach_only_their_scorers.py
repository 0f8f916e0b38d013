"""A scorer's token is sent only to its own address, for users who may use its secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from runs import access
from runs.launching.credentials import credentials_environment
from runs.launching.resources import check_resources
from runs.models import Cluster, Experiment, Run, ScorerSecret
from runs.responses.scoring import choices, scorer_for
from tests.runs.api_client import calls
from tests.runs.full_runs import make_run
from tests.workers.scorers import scorer
from workers.config import ConfigError, RunConfig
from workers.scorer.client import ScorerRefused

TOKEN = "the-token-of-the-beaver"
OFFER = {"kind": "scorer", "name": "beaver", "instance": "0123456789", "address": "http://127.0.0.1:9"}


@pytest.fixture
def admin(db: None) -> User:
    return User.objects.create(username="root", is_superuser=True)


def make_run_of(person: User, config: dict[str, Any]) -> Run:
    """Return a run of the user with this config."""
    run = make_run(Experiment.objects.create(name="Theirs", owner=person), "es-micro")
    run.config = RunConfig.from_json(config).to_json()
    run.save()
    return run


def client_of_run(run: Run) -> Client:
    """Return a client with the token that the site issues for an attempt of the run."""
    attempt = run.newest_attempt()
    assert attempt is not None
    return Client(headers={"authorization": f"Bearer {access.issue_run_token(run, attempt.key)}"})


def register_scorer_run(owner: User) -> Run:
    """Return the run of a scorer that has registered."""
    run = make_run_of(owner, {"method": "scorer", "scorer": {"name": "beaver", "secret": "beaver-token"}})
    assert client_of_run(run).post("/api/v1/services", OFFER, content_type="application/json").status_code == 201
    return run


def lookup_tokens(client: Client) -> list[str]:
    """Return the tokens that a lookup of the scorer answers."""
    return [item["token"] for item in client.get("/api/v1/services?kind=scorer&name=beaver").json()["items"]]


@pytest.mark.parametrize(("is_shared", "token"), [(True, TOKEN), (False, "")])
def test_lookup_gives_token_to_entitled_runs(is_shared: bool, token: str, admin: User, ada: User) -> None:
    access.save_secret(admin, "beaver-token", TOKEN, is_shared=is_shared)
    register_scorer_run(admin)
    assert lookup_tokens(client_of_run(make_run_of(ada, {"method": "es", "es": {}}))) == [token]
    assert lookup_tokens(client_of_run(make_run_of(admin, {"method": "es", "es": {}}))) == [TOKEN]
    for scope in ("read", "launch", "admin"):
        assert lookup_tokens(calls(admin, scope)) == [""], "only runs are given it"


def test_user_registered_service_gets_no_secret(ada: User) -> None:
    """A user who takes over the scorer's name, with any address, does not get the token."""
    access.save_secret(ada, "beaver-token", TOKEN)
    register_scorer_run(ada)
    response = calls(ada, "serve").post(
        "/api/v1/services", {**OFFER, "instance": "9876543210"}, content_type="application/json"
    )
    assert response.status_code == 200
    assert lookup_tokens(client_of_run(make_run_of(ada, {"method": "es", "es": {}}))) == [""]


def test_secret_without_address_keeps_scorer_name(ada: User, local: Cluster, runs_dir: Path) -> None:
    """A scorer and its secret may have one name."""
    access.save_secret(ada, "beaver", TOKEN)
    config = {"method": "es", "es": {}, "task": {"name": "safety", "options": {"scorer": "beaver"}}}
    with pytest.raises(ConfigError, match="no site_url"):
        check_resources(RunConfig.from_json(config), ada, local)
    local.config = {"site_url": "http://127.0.0.1:8000"}
    check_resources(RunConfig.from_json(config), ada, local)
    attempt = make_run_of(ada, config).newest_attempt()
    assert attempt is not None
    attempt.cluster = local
    assert credentials_environment(attempt).keys() == {"ESWEB_RUN_SITE", "ESWEB_RUN_SITE_TOKEN", "ESWEB_RUN_PUSHES"}


def test_run_registers_only_its_own_service(ada: User) -> None:
    run = make_run_of(ada, {"method": "scorer", "scorer": {"name": "beaver"}})
    for other in ({"name": "otter"}, {"kind": "vllm"}):
        response = client_of_run(run).post("/api/v1/services", {**OFFER, **other}, content_type="application/json")
        assert response.status_code == 422


def test_member_cannot_save_secret_for_disallowed_host(ada: User, ada_client: Client, admin: User) -> None:
    form = {"name": "beaver", "token": TOKEN}
    for address in ("http://169.254.169.254", "http://node7:8000", "http://2130706433", "http://127.0.0.1.eve.example"):
        response = ada_client.post(reverse("settings-secrets"), {**form, "address": address})
        assert response.status_code == 400 and "is not an allowed scorer host" in response.content.decode()
    shared = ada_client.post(reverse("settings-secrets"), {**form, "is_shared": "on"})
    assert shared.status_code == 302 and not ScorerSecret.objects.get().is_shared
    with pytest.raises(access.CannotSaveSecret):
        access.save_secret(ada, "otter", TOKEN, is_shared=True)
    assert access.save_secret(admin, "beaver", TOKEN, address="http://node7:8000", is_shared=True).is_shared


def test_secrets_page_contains_no_token(ada: User, ada_client: Client, bo_client: Client, admin: User) -> None:
    access.save_secret(ada, "beaver", TOKEN)
    access.save_secret(admin, "shared", "another-token-of-an-otter", address="http://node7:8000", is_shared=True)
    page = ada_client.get(reverse("settings-secrets")).content.decode()
    assert TOKEN not in page and "another-token" not in page and f"…{TOKEN[-4:]}" in page
    assert "only you" in page and "all users, shared by root" in page and "http://node7:8000" in page
    assert "…tter" not in page
    others = bo_client.get(reverse("settings-secrets")).content.decode()
    assert "only you" not in others and "all users, shared by root" in others
    secret = ScorerSecret.objects.get(owner=ada)
    assert bo_client.post(reverse("settings-secret-delete", args=[secret.pk])).status_code == 404
    assert ada_client.post(reverse("settings-secret-delete", args=[secret.pk])).status_code == 302
    assert not ScorerSecret.objects.filter(owner=ada).exists()


def test_secrets_page_is_paginated(ada: User, ada_client: Client) -> None:
    ScorerSecret.objects.bulk_create(ScorerSecret(owner=ada, name=f"n{n:03}", sealed=b"x") for n in range(101))
    address = reverse("settings-secrets")
    first, last = (ada_client.get(f"{address}?page={n}").content.decode() for n in (1, 3))
    assert "1–50 of 101 secrets shown" in first and "n050" not in first
    assert "101–101 of 101 secrets shown" in last and "n100" in last


def test_site_sends_secret_to_allowed_host_only(ada: User, settings: Any) -> None:
    run = make_run_of(ada, {"method": "es", "es": {}})
    with scorer("fine") as server:
        access.save_secret(ada, "beaver", TOKEN, address=server.url)
        assert "beaver" in choices(ada, run)
        scorer_for(ada, "beaver").score(["a"], ["b"])
        assert server.tokens == [f"Bearer {TOKEN}"]
        settings.SCORER_HOSTS = ["node7"]
        assert "beaver" not in choices(ada, run)
        with pytest.raises(ScorerRefused, match="is not an allowed scorer host"):
            scorer_for(ada, "beaver")
