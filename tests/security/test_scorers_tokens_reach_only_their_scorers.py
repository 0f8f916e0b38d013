"""A scorer's token goes to its own address, for those who may use its secret, and nowhere else."""

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
from runs.responses.scoring import choices, scorer_of
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


def run_of(person: User, config: dict[str, Any]) -> Run:
    """Return a run of the person with this config."""
    run = make_run(Experiment.objects.create(name="Theirs", owner=person), "es-micro")
    run.config = RunConfig.from_json(config).to_json()
    run.save()
    return run


def as_run(run: Run) -> Client:
    """Return a client that shows the token which the site makes for an attempt of the run."""
    attempt = run.newest_attempt()
    assert attempt is not None
    return Client(headers={"authorization": f"Bearer {access.issue_run_token(run, attempt.key)}"})


def served(owner: User) -> Run:
    """Return the run of a scorer that has registered."""
    run = run_of(owner, {"method": "scorer", "scorer": {"name": "beaver", "secret": "beaver-token"}})
    assert as_run(run).post("/api/v1/services", OFFER, content_type="application/json").status_code == 201
    return run


def seen(client: Client) -> list[str]:
    """Return the tokens that a lookup of the scorer answers."""
    return [item["token"] for item in client.get("/api/v1/services?kind=scorer&name=beaver").json()["items"]]


@pytest.mark.parametrize(("is_shared", "token"), [(True, TOKEN), (False, "")])
def test_lookup_answers_a_token_to_runs_of_those_who_may_use_its_secret(
    is_shared: bool, token: str, admin: User, ada: User
) -> None:
    access.save_secret(admin, "beaver-token", TOKEN, is_shared=is_shared)
    served(admin)
    assert seen(as_run(run_of(ada, {"method": "es", "es": {}}))) == [token]
    assert seen(as_run(run_of(admin, {"method": "es", "es": {}}))) == [TOKEN]
    for scope in ("read", "launch", "admin"):
        assert seen(calls(admin, scope)) == [""], "only runs are given it"


def test_service_that_a_person_registers_gets_no_secret(ada: User) -> None:
    """Whoever takes the scorer's name over, with any address, is not sent the token."""
    access.save_secret(ada, "beaver-token", TOKEN)
    served(ada)
    taken = calls(ada, "serve").post(
        "/api/v1/services", {**OFFER, "instance": "9876543210"}, content_type="application/json"
    )
    assert taken.status_code == 200
    assert seen(as_run(run_of(ada, {"method": "es", "es": {}}))) == [""]


def test_secret_without_address_leaves_its_name_to_the_registered_scorer(
    ada: User, local: Cluster, runs_dir: Path
) -> None:
    """A scorer and its secret may have one name."""
    access.save_secret(ada, "beaver", TOKEN)
    config = {"method": "es", "es": {}, "task": {"name": "safety", "options": {"scorer": "beaver"}}}
    with pytest.raises(ConfigError, match="no site_url"):
        check_resources(RunConfig.from_json(config), ada, local)
    local.config = {"site_url": "http://127.0.0.1:8000"}
    check_resources(RunConfig.from_json(config), ada, local)
    attempt = run_of(ada, config).newest_attempt()
    assert attempt is not None
    attempt.cluster = local
    assert credentials_environment(attempt).keys() == {"ESWEB_RUN_SITE", "ESWEB_RUN_SITE_TOKEN", "ESWEB_RUN_PUSHES"}


def test_run_registers_no_other_name_than_its_own(ada: User) -> None:
    run = run_of(ada, {"method": "scorer", "scorer": {"name": "beaver"}})
    for other in ({"name": "otter"}, {"kind": "vllm"}):
        answer = as_run(run).post("/api/v1/services", {**OFFER, **other}, content_type="application/json")
        assert answer.status_code == 422


def test_member_saves_no_secret_for_a_host_that_nobody_allowed(ada: User, ada_client: Client, admin: User) -> None:
    form = {"name": "beaver", "token": TOKEN}
    for address in ("http://169.254.169.254", "http://node7:8000", "http://2130706433", "http://127.0.0.1.eve.example"):
        answer = ada_client.post(reverse("settings-secrets"), {**form, "address": address})
        assert answer.status_code == 400 and "is none of the hosts" in answer.content.decode()
    shared = ada_client.post(reverse("settings-secrets"), {**form, "is_shared": "on"})
    assert shared.status_code == 302 and not ScorerSecret.objects.get().is_shared
    with pytest.raises(access.CannotSaveSecret):
        access.save_secret(ada, "otter", TOKEN, is_shared=True)
    assert access.save_secret(admin, "beaver", TOKEN, address="http://node7:8000", is_shared=True).is_shared


def test_secrets_page_shows_no_token(ada: User, ada_client: Client, bo_client: Client, admin: User) -> None:
    access.save_secret(ada, "beaver", TOKEN)
    access.save_secret(admin, "shared", "another-token-of-an-otter", address="http://node7:8000", is_shared=True)
    page = ada_client.get(reverse("settings-secrets")).content.decode()
    assert TOKEN not in page and "another-token" not in page and f"…{TOKEN[-4:]}" in page
    assert "only you" in page and "everybody, shared by root" in page and "http://node7:8000" in page
    assert "…tter" not in page
    others = bo_client.get(reverse("settings-secrets")).content.decode()
    assert "only you" not in others and "everybody, shared by root" in others
    secret = ScorerSecret.objects.get(owner=ada)
    assert bo_client.post(reverse("settings-secret-delete", args=[secret.pk])).status_code == 404
    assert ada_client.post(reverse("settings-secret-delete", args=[secret.pk])).status_code == 302
    assert not ScorerSecret.objects.filter(owner=ada).exists()


def test_secrets_page_shows_fifty_at_a_time(ada: User, ada_client: Client) -> None:
    ScorerSecret.objects.bulk_create(ScorerSecret(owner=ada, name=f"n{n:03}", sealed=b"x") for n in range(101))
    address = reverse("settings-secrets")
    first, last = (ada_client.get(f"{address}?page={n}").content.decode() for n in (1, 3))
    assert "1–50 of 101 secrets shown" in first and "n050" not in first
    assert "101–101 of 101 secrets shown" in last and "n100" in last


def test_site_shows_a_secrets_token_to_an_allowed_host_only(ada: User, settings: Any) -> None:
    run = run_of(ada, {"method": "es", "es": {}})
    with scorer("fine") as server:
        access.save_secret(ada, "beaver", TOKEN, address=server.url)
        assert "beaver" in choices(ada, run)
        scorer_of(ada, "beaver").score(["a"], ["b"])
        assert server.tokens == [f"Bearer {TOKEN}"]
        settings.SCORER_HOSTS = ["node7"]
        assert "beaver" not in choices(ada, run)
        with pytest.raises(ScorerRefused, match="is none of the hosts"):
            scorer_of(ada, "beaver")
