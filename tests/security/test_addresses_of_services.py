"""Addresses of registered services: a member's obey ESWEB_SCORER_HOSTS at registration, at launch and on the node.

The class is server-side request forgery: a member registers an address that the site reaches and the member does not,
starts a run with the service's name, and reads the reply in the reason of the failure.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from runs import access, launching
from runs.launching.submit import submit_job
from runs.models import Attempt, Cluster, Experiment, Run, Service
from runs.responses.scoring import scorer_for
from runs.service_registry import commands
from runs.service_registry.commands import InvalidRegistration, Registration
from tests.cases import each_case
from tests.fakes.raw_server import SECRET, http_reply, raw_server
from tests.runs.api_client import calls, paths
from tests.runs.full_runs import make_run
from tests.runs.stored_services import store_service
from tests.security.launch_attacks import check_nothing_created, post
from workers.config import RunConfig, SafetyOptions, preset
from workers.executors.states import State
from workers.scorer.client import ScorerFailed, ScorerRefused
from workers.tasks.safety.scorer import PatientScorer

pytestmark = pytest.mark.django_db
ADDRESSES = (
    "http://127.0.0.2:9", "http://169.254.169.254", "http://10.0.0.5:6379", "http://node7:8000", "http://2130706433",
    "http://0x7f000001", "http://0177.0.0.1", "http://[::ffff:127.0.0.1]:9", "http://[::7f00:1]:9",
    "http://[64:ff9b::7f00:1]:9", "http://[2002:7f00:1::]:9", "http://[2001::80ff:fffe]:9", "http://[fec0::1]:9",
    "http://[fe80::1%25lo]:9", "http://[::1%25lo]:9", "http://127.0.0.1.eve.example", "http://localhost..:9",
)  # fmt: skip


@pytest.fixture
def admin(db: None) -> User:
    return User.objects.create(username="root", is_superuser=True)


@pytest.fixture
def site(local: Cluster) -> Cluster:
    """Return the local cluster, whose nodes look services up on this site."""
    local.config = {"site_url": "http://127.0.0.1:8000"}
    local.save()
    return local


def registration(address: str, kind: str = "scorer") -> Registration:
    return Registration(kind, "beaver", "0123456789", address)


CONFIGS: dict[str, dict[str, Any]] = {
    "scorer": {"method": "es", "es": {}, "task": {"name": "safety", "options": {"scorer": "beaver"}}},
    "vllm": {"method": "es", "es": {"backend": "adapter_server", "lora": {}, "adapter_server": {"server": "beaver"}}},
}
FIELDS = {"scorer": "task.options.scorer", "vllm": "es.adapter_server.server"}


def lookup_items(run: Run) -> list[dict[str, Any]]:
    """Return the services that an attempt of the run gets for the name of its scorer."""
    attempt = run.newest_attempt()
    assert attempt is not None
    client = Client(headers={"authorization": f"Bearer {access.issue_run_token(run, attempt.key)}"})
    items: list[dict[str, Any]] = client.get("/api/v1/services?kind=scorer&name=beaver").json()["items"]
    return items


def run_of(person: User) -> Run:
    return make_run(Experiment.objects.create(name=f"By {person}", owner=person), "es-micro")


@each_case("kind", ["scorer", "vllm"])
@each_case("address", ADDRESSES)
def test_members_service_at_disallowed_host_is_not_registered(ada: User, address: str, kind: str) -> None:
    with pytest.raises(InvalidRegistration, match="ESWEB_SCORER_HOSTS") as refused:
        commands.register(ada, registration(address, kind))
    assert [problem.path for problem in refused.value.problems] == ["address"]
    assert not Service.objects.exists()


def test_services_at_allowed_hosts_and_those_of_admins_are_registered(
    ada: User, admin: User, settings: Settings
) -> None:
    for address in ("http://127.0.0.1:8000", "http://localhost.:9", "http://[::1]:80/v1"):
        assert commands.register(ada, registration(address))[0].address == address
    settings.SCORER_HOSTS = [".lab=10.0.0.0/8", "node8:8000"]
    for address in ("http://node7.lab:8000", "http://node8:8000"):
        commands.register(ada, registration(address))
    for address in ("http://lab:8000", "http://node8:8001", "http://eve.lab.example"):
        with pytest.raises(InvalidRegistration, match=r"\.lab=10\.0\.0\.0/8, node8:8000"):
            commands.register(ada, registration(address))
    for address in ADDRESSES[1:4]:
        assert commands.register(admin, registration(address))[0].address == address


@each_case("kind", ["scorer", "vllm"])
def test_stored_service_at_disallowed_host_is_refused_at_launch(
    ada: User, experiment: Experiment, site: Cluster, kind: str
) -> None:
    service = store_service(ada, "http://127.0.0.2:9", kind)
    body = {"experiment": experiment.pk, "config": CONFIGS[kind]}
    refused = paths(post(calls(ada), "runs", body))
    assert list(refused) == [FIELDS[kind]]
    assert "127.0.0.2:9" in refused[FIELDS[kind]] and "ESWEB_SCORER_HOSTS" in refused[FIELDS[kind]]
    check_nothing_created()
    service.address = "http://127.0.0.1:9"
    service.save()
    assert post(calls(ada), "runs", body).status_code == 201


def test_run_whose_service_moved_to_disallowed_host_is_not_submitted(
    ada: User, experiment: Experiment, site: Cluster, runs_dir: Path
) -> None:
    config = {**preset("es-micro").config, "task": CONFIGS["scorer"]["task"]}
    attempt = launching.create_run(
        experiment=experiment, person=ada, config=RunConfig.from_json(config)
    ).newest_attempt()
    assert attempt is not None
    store_service(ada, "http://127.0.0.2:9")
    submit_job(attempt)
    attempt = Attempt.objects.get(pk=attempt.pk)
    assert attempt.state == State.FAILED.value and "ESWEB_SCORER_HOSTS" in attempt.reason


def test_runs_take_the_services_of_their_creator_and_of_admins(ada: User, bo: User, admin: User) -> None:
    own, of_admin = (commands.register(owner, registration("http://127.0.0.1:9"))[0] for owner in (ada, admin))
    assert [item["owner"] for item in lookup_items(run_of(ada))] == ["ada", "root"]
    assert [item["owner"] for item in lookup_items(run_of(bo))] == ["root"]
    assert [item["owner"] for item in lookup_items(run_of(admin))] == ["root"]
    of_admin.delete()
    assert lookup_items(run_of(admin)) == [] and lookup_items(run_of(bo)) == []
    with pytest.raises(ScorerFailed, match="No scorer named beaver"):
        scorer_for(admin, "beaver")
    assert scorer_for(ada, "beaver") and own


def test_admins_run_that_names_a_members_service_is_refused(
    ada: User, admin: User, experiment: Experiment, site: Cluster
) -> None:
    commands.register(ada, registration("http://127.0.0.1:9"))
    refused = paths(post(calls(admin), "runs", {"experiment": experiment.pk, "config": CONFIGS["scorer"]}))
    assert "beaver is a service of ada" in refused["task.options.scorer"]
    check_nothing_created()


def test_lookup_gives_the_allowed_hosts_of_the_services_owner(ada: User, admin: User, settings: Settings) -> None:
    settings.SCORER_HOSTS = ["127.0.0.1", "gpu7.lab=10.0.0.0/8"]
    commands.register(admin, registration("http://169.254.169.254"))
    run = run_of(ada)
    assert [item["hosts"] for item in lookup_items(run)] == [None]
    commands.register(ada, registration("http://127.0.0.1:9"))
    assert [item["hosts"] for item in lookup_items(run)] == [["127.0.0.1", "gpu7.lab=10.0.0.0/8"], None]
    settings.SCORER_HOSTS = []
    assert [item["hosts"] for item in lookup_items(run)] == [[], None]


@pytest.mark.django_db(transaction=True)
def test_run_does_not_call_a_stored_service_at_a_disallowed_host(
    ada: User, live_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole way: the run looks the name up on the site, and calls it on its node."""
    (tmp_path / "token").write_text(access.issue(ada, "read")[1])
    run = run_of(ada)
    attempt = run.newest_attempt()
    assert attempt is not None
    (tmp_path / "token").write_text(access.issue_run_token(run, attempt.key))
    monkeypatch.setenv("ESWEB_DATA_PATHS", "")
    options = SafetyOptions(
        scorer="beaver", scorer_site=live_server.url, scorer_site_token_file=str(tmp_path / "token")
    )
    with raw_server(http_reply("404 Not Found", SECRET), "127.0.0.2") as server:
        store_service(ada, server.url)
        with pytest.raises(ScorerRefused, match="ESWEB_SCORER_HOSTS") as refused:
            PatientScorer(options).score(["a"], ["b"])
    assert server.connections == 0 and SECRET not in str(refused.value)
