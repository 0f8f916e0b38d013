"""Addresses that a run calls on its node: the hosts allowed to it travel in its environment, and the address that is
connected to is the one that was checked.

Servers are real; DNS is the only fake. A run of a site has ESWEB_DATA_PATHS in its environment.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from runs import access
from runs.launching.credentials import credentials_environment
from runs.models import Cluster, Experiment
from tests.cases import each_case
from tests.fakes.dns import Dns, fake_dns
from tests.fakes.raw_server import SECRET, http_reply, raw_server
from tests.runs.full_runs import make_run
from tests.security.launch_attacks import INSIDE
from workers.config import AdapterServerConfig, RunConfig, SafetyOptions
from workers.config.resources import connect, resources
from workers.engines.es.adapter_server.connection import Connection
from workers.engines.es.adapter_server.lookup import ServerLost, ServerRefused, find_address
from workers.preflight.connections import adapter_server_need, scorer_need
from workers.scorer.client import ScorerFailed, ScorerRefused
from workers.tasks.safety.scorer import PatientScorer

NAME = "inside.example"
NOT_FOUND = http_reply("404 Not Found", SECRET)
Call = Callable[[str], None]


def score(url: str) -> None:
    PatientScorer(SafetyOptions(scorer=url, on_scorer_failure="stop")).score(["a"], ["b"])


def list_models(url: str) -> None:
    config = AdapterServerConfig(server=url)
    Connection(lambda: find_address(config), 5.0).get("/v1/models")


CALLS: dict[str, tuple[Call, type[Exception]]] = {
    "scorer": (score, ScorerRefused),
    "adapter_server": (list_models, ServerRefused),
}


@pytest.fixture
def dns(monkeypatch: pytest.MonkeyPatch) -> Iterator[Dns]:
    yield fake_dns(monkeypatch, {})


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str] | None], None]:
    """Return a function that makes this process one that a site started, with these allowed hosts."""
    monkeypatch.setenv("ESWEB_DATA_PATHS", "")
    monkeypatch.delenv("ESWEB_RUN_HOSTS", raising=False)
    return lambda entries: monkeypatch.setenv("ESWEB_RUN_HOSTS", json.dumps(entries))


Hosts = Callable[[list[str] | None], None]


@each_case("service", CALLS)
def test_run_calls_an_allowed_address(hosts: Hosts, service: str) -> None:
    call, refusal = CALLS[service]
    for entries in (["127.0.0.1"], ["10.0.0.1", "127.0.0.1"], None):
        hosts(entries)
        with raw_server(NOT_FOUND) as server, pytest.raises(refusal, match="404"):
            call(server.url)
        assert server.connections == 1


@each_case("service", CALLS)
def test_run_calls_no_address_outside_its_hosts(hosts: Hosts, service: str) -> None:
    call, refusal = CALLS[service]
    with raw_server(NOT_FOUND, "127.0.0.2") as server:
        for entries in (["127.0.0.1", "localhost"], ["127.0.0.2:1"], ["node7"], []):
            hosts(entries)
            with pytest.raises(refusal, match="ESWEB_SCORER_HOSTS") as refused:
                call(server.url)
            assert SECRET not in str(refused.value)
    assert server.connections == 0


@pytest.mark.usefixtures("hosts")
@each_case("service", CALLS)
def test_run_without_a_list_of_hosts_calls_nothing(service: str) -> None:
    call, refusal = CALLS[service]
    with raw_server(NOT_FOUND) as server, pytest.raises(refusal, match="ESWEB_SCORER_HOSTS"):
        call(server.url)
    assert server.connections == 0


@each_case("service", CALLS)
def test_run_is_not_led_elsewhere_by_a_dns_change(dns: Dns, hosts: Hosts, service: str) -> None:
    call, refusal = CALLS[service]
    hosts([f"{NAME}=127.0.0.1/32"])
    with raw_server(NOT_FOUND) as server, raw_server(NOT_FOUND, "127.0.0.2", server.port) as other:
        dns[NAME] = ["127.0.0.1", "127.0.0.2"]
        with pytest.raises(refusal, match="404"):
            call(f"http://{NAME}:{server.port}")
        with pytest.raises(refusal, match=rf"{NAME} has the address 127\.0\.0\.2"):
            call(f"http://{NAME}:{server.port}")
    assert (server.connections, other.connections) == (1, 0)


@each_case("service", CALLS)
def test_run_calls_a_checked_address_by_tls_with_the_name_of_its_host(dns: Dns, hosts: Hosts, service: str) -> None:
    call = CALLS[service][0]
    hosts([f"{NAME}=127.0.0.1/32"])
    with raw_server(NOT_FOUND) as server:
        dns[NAME] = ["127.0.0.1"]
        # The server speaks no TLS.
        with pytest.raises((ScorerFailed, ServerLost), match="SSL"):
            call(f"https://{NAME}:{server.port}")
    assert all(hello[:2] == b"\x16\x03" and NAME.encode() in hello for hello in server.received) and server.received


@each_case("service", CALLS)
@each_case("address", INSIDE)
def test_run_does_not_call_a_name_of_an_inside_address(dns: Dns, hosts: Hosts, address: str, service: str) -> None:
    call, refusal = CALLS[service]
    hosts([NAME])
    dns[NAME] = [address]
    with pytest.raises(refusal, match=f"{NAME} has the address {address}, which ESWEB_SCORER_HOSTS does not allow"):
        call(f"http://{NAME}:9")


@each_case("service", CALLS)
def test_run_follows_no_redirect_and_uses_no_proxy(hosts: Hosts, service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call, refusal = CALLS[service]
    hosts(["127.0.0.1"])
    with raw_server(NOT_FOUND) as elsewhere:
        monkeypatch.setenv("http_proxy", elsewhere.url)
        monkeypatch.delenv("no_proxy", raising=False)
        redirect = http_reply("302 Found", "", Location=f"{elsewhere.url}/{SECRET}")
        with raw_server(redirect) as server, pytest.raises(refusal, match="302") as refused:
            call(server.url)
        assert (server.connections, elsewhere.connections) == (1, 0)
    assert SECRET not in str(refused.value)


def test_check_of_a_config_connects_to_allowed_hosts_only(hosts: Hosts) -> None:
    with raw_server(NOT_FOUND, "127.0.0.2") as server:
        task = {"name": "safety", "options": {"scorer": server.url}}
        es = {"backend": "adapter_server", "lora": {}, "adapter_server": {"server": server.url}}
        config = RunConfig.from_json({"method": "es", "es": es, "task": task})
        for entries, state in ((["127.0.0.1"], "missing"), (["127.0.0.2"], "ok"), ([], "missing"), (None, "ok")):
            hosts(entries)
            needs = [*scorer_need(config), *adapter_server_need(config)]
            assert [need.state for need in needs] == [state, state], entries
            assert all("ESWEB_SCORER_HOSTS" in need.sentence for need in needs if state == "missing")


# What the site hands to the node -------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_environment_of_a_run_has_the_hosts_of_its_creator(ada: User, local: Cluster, settings: Settings) -> None:
    settings.SCORER_HOSTS = ["127.0.0.1", "gpu7.lab=10.0.0.0/8"]
    admin = User.objects.create(username="root", is_superuser=True)
    expected = {ada: ["127.0.0.1", "gpu7.lab=10.0.0.0/8"], admin: None}
    for person, entries in expected.items():
        env = environment_of(person, "http://127.0.0.1:8000")
        assert json.loads(env["ESWEB_RUN_HOSTS"]) == entries


@pytest.mark.django_db
def test_environment_of_a_run_has_the_hosts_of_its_secrets_owner(ada: User, local: Cluster) -> None:
    admin = User.objects.create(username="root", is_superuser=True)
    access.save_secret(admin, "beaver", "the-scorers-own-token", address="http://127.0.0.2:9", is_shared=True)
    env = environment_of(ada, "beaver")
    assert (env["ESWEB_RUN_SCORER"], json.loads(env["ESWEB_RUN_SCORER_HOSTS"])) == ("http://127.0.0.2:9", None)


def environment_of(person: User, scorer: str) -> dict[str, str]:
    """Return the environment of a run of the user with this scorer."""
    run = make_run(Experiment.objects.create(name=f"By {person}", owner=person), "es-micro")
    task = {"name": "safety", "options": {"scorer": scorer}}
    run.config = RunConfig.from_json({"method": "es", "es": {}, "task": task}).to_json()
    run.save()
    attempt = run.newest_attempt()
    assert attempt is not None
    attempt.cluster = Cluster.objects.get(name="local")
    return credentials_environment(attempt)


def test_run_calls_the_address_of_a_secret_by_the_rule_of_its_owner(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts(["127.0.0.1"])
    with raw_server(NOT_FOUND, "127.0.0.2") as server:
        monkeypatch.setenv("ESWEB_RUN_SCORER", server.url)
        monkeypatch.setenv("ESWEB_RUN_SCORER_HOSTS", "null")
        with pytest.raises(ScorerRefused, match="404"):
            score(server.url)
        with pytest.raises(ServerRefused, match="ESWEB_SCORER_HOSTS"):
            list_models(server.url)
        monkeypatch.setenv("ESWEB_RUN_SCORER_HOSTS", '["127.0.0.1"]')
        with pytest.raises(ScorerRefused, match="ESWEB_SCORER_HOSTS"):
            score(server.url)
    assert server.connections == 1


EVE = "http://eve.example"
SERVER = {"server": "qwen", "site": EVE, "site_token_file": "/etc/hostname", "token_file": "/etc/hostname"}
BY_HAND: dict[str, Any] = {
    "method": "es",
    "es": {"backend": "adapter_server", "lora": {}, "adapter_server": SERVER},
    "task": {"name": "safety", "options": {"scorer": "beaver", "scorer_site": EVE, "scorer_token_file": "/etc/hosts"}},
    "tracking": {"push_url": EVE, "token_file": "/etc/hostname", "wandb_key_file": "/etc/hostname"},
}


def test_run_of_a_site_pushes_to_no_address_and_reads_no_token_of_its_config() -> None:
    """A run is checked when it starts. Its node does not rely on that."""
    config = RunConfig.from_json(BY_HAND)
    set_by_hand = {r.path: r.value for r in resources(config) if r.kind == "by_hand" and r.value}
    assert len(set_by_hand) == 8 and connect(config, {}) == config
    connected = connect(config, {"ESWEB_DATA_PATHS": ""})
    assert [r for r in resources(connected) if r.path in set_by_hand and r.value] == []
    pushed = connect(config, {"ESWEB_DATA_PATHS": "", "ESWEB_RUN_SITE": "http://site", "ESWEB_RUN_PUSHES": "1"})
    assert (pushed.tracking.push_url, pushed.tracking.token_file) == ("http://site", "")
