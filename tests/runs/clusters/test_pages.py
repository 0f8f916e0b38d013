"""Clusters on pages, for admins alone: listed, added and changed, with every sentence at its field."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from runs import launching
from runs.models import Cluster
from tests.cases import each_case
from tests.runs.local_cluster import run_of
from workers.config import ConfigError, RunConfig, preset

LIST, NEW = "/settings/clusters/", "/settings/clusters/new/"
TYPED = {
    "name": "alps", "kind": "slurm", "address": "ssh://ada@login.example.org", "folder": "/scratch/ada",
    "python": "/venv/bin/python", "partition": "gpu", "time_limit_seconds": "3600", "modules": "gcc/13\ncuda/12.4",
    "env": "HF_HOME=/shared/hf\nA=b=c", "more": '{"limits": {"gpus": 4}}',
}  # fmt: skip
CONFIG = {
    "address": "ssh://ada@login.example.org", "folder": "/scratch/ada", "python": "/venv/bin/python",
    "partition": "gpu",
    "time_limit_seconds": 3600, "modules": ["gcc/13", "cuda/12.4"], "env": {"HF_HOME": "/shared/hf", "A": "b=c"},
    "limits": {"gpus": 4},
}  # fmt: skip


@pytest.fixture
def root_client(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def page_text(answer: HttpResponse) -> str:
    return " ".join(answer.content.decode().replace("&#x27;", "'").replace("&quot;", '"').split())


def test_saved_cluster_fields_appear_in_the_form(root_client: Client) -> None:
    answer = root_client.post(NEW, TYPED, follow=True)
    assert Cluster.objects.get(name="alps").config == CONFIG
    assert "Saved alps." in page_text(answer) and "cuda/12.4" in page_text(answer) and '"gpus": 4' in page_text(answer)
    changed = {**TYPED, "partition": "cpu", "more": ""}
    assert root_client.post("/settings/clusters/of/alps/", changed).status_code == 302
    config = Cluster.objects.get(name="alps").config
    assert config["partition"] == "cpu" and "limits" not in config


def test_ray_cluster_form_shows_errors_at_their_fields(root_client: Client) -> None:
    typed = {"name": "rays", "kind": "ray", "dashboard": "http://ray.lab:8265", "token_file": "/etc/ray-token"}
    refused = page_text(root_client.post(NEW, typed))
    assert "dashboard: ray.lab is not one of the hosts with a Ray that this server may use" in refused
    expected = {**typed, "dashboard": "http://127.0.0.1:8265", "more": '{"start_seconds": 600}'}
    assert root_client.post(NEW, expected).status_code == 302
    config = {"dashboard": "http://127.0.0.1:8265", "token_file": "/etc/ray-token", "start_seconds": 600}
    assert Cluster.objects.get(name="rays").config == config


@each_case(("kind", "fields"), [
    ("local", {"more"}),
    ("ray", {"dashboard", "token_file", "python", "project", "env", "more"}),
    ("slurm", {
        "address", "key_file", "known_hosts", "folder", "partition", "account", "qos", "constraint", "gpu_type",
        "python", "project", "time_limit_seconds", "modules", "env", "more",
    }),
])  # fmt: skip
def test_edit_page_has_the_fields_that_the_kind_uses(root_client: Client, kind: str, fields: set[str]) -> None:
    Cluster.objects.create(name="here", kind=kind, config={"limits": {"cores": 2}})
    text = page_text(root_client.get("/settings/clusters/of/here/"))
    form = text[text.index('class="fields"') : text.index("Test this cluster")]
    names = set(re.findall(r'<(?:input|textarea|select)[^>]* name="(\w+)"', form))
    assert names - {"csrfmiddlewaretoken"} == fields
    assert '{ "limits": { "cores": 2 } }' in form
    assert ("cores, gpus, mps, waits" in form) == (kind == "local")
    assert ("Settings</label>" in form) == (kind == "local")


def test_local_cluster_is_changed_on_its_page(root_client: Client, local: Cluster) -> None:
    sent = {"more": '{"cores": 3}', "address": "ssh://ada@login.example.org"}
    assert root_client.post("/settings/clusters/of/local/", sent).status_code == 302
    local.refresh_from_db()
    assert local.config == {"cores": 3}


def test_new_cluster_ignores_fields_that_its_kind_does_not_use(root_client: Client) -> None:
    typed = {"name": "mine", "kind": "local", "address": "ssh://ada@login.example.org", "env": "A=b", "more": ""}
    assert root_client.post(NEW, typed).status_code == 302
    assert Cluster.objects.get(name="mine").config == {}


@each_case(
    ("typed", "message"),
    [
        ({"name": "a b"}, "must be 1 to 50 letters, digits, - and _"),
        ({"name": "local"}, "is taken: there is already a cluster local"),
        ({"address": "-oProxyCommand=x"}, "address must be ssh://user@host:port"),
        ({"folder": ""}, "folder is required for a cluster that is reached over SSH"),
        ({"key_file": "/nowhere/key"}, "key_file: /nowhere/key is not a file on this machine"),
        ({"address": "", "key_file": "", "folder": "/x"}, "folder is only for a cluster that is reached over SSH"),
        ({"partition": "gpu;x"}, "partition must be one word"),
        ({"modules": "$(x)"}, "modules must be a list"),
        ({"env": "HF_HOME"}, "must be NAME=value, not 'HF_HOME'"),
        ({"env": "HF_TOKEN=x"}, "env: HF_TOKEN looks like a secret"),
        ({"more": "{"}, "is not JSON: "),
        ({"more": "[]"}, "must be an object such as"),
        ({"more": '{"partition": "x"}'}, "has its own fields above: partition"),
        ({"more": '{"limits": {"gpu": 1}}'}, "limits: 'gpu' is not a known name; the names are cores, gpus"),
        ({"more": '{"colour": 1}'}, "'colour' is not a known key; the keys are"),
        ({"kind": "cloud"}, "cloud is not one of the available choices"),
    ],
)
def test_invalid_cluster_is_reported_and_not_saved(
    root_client: Client, local: Cluster, typed: dict[str, Any], message: str
) -> None:
    answer = root_client.post(NEW, {**TYPED, **typed})
    assert answer.status_code == 400 and message in page_text(answer)
    assert not Cluster.objects.filter(name="alps").exists()


def test_nobody_but_an_admin_gets_there(ada_client: Client, local: Cluster) -> None:
    for address in (LIST, NEW, "/settings/clusters/of/local/"):
        assert ada_client.get(address).status_code == 403
        assert ada_client.post(address, TYPED).status_code in (403, 405)
    assert Cluster.objects.count() == 1
    assert "Clusters" not in page_text(ada_client.get("/settings/tokens/"))


def test_the_list_asks_as_often_for_many_as_for_few(
    root_client: Client, local: Cluster, experiment: Any, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    run_of(experiment)
    root_client.get(LIST)
    with django_assert_num_queries(4):
        page = page_text(root_client.get(LIST))
    assert "local" in page and '<td class="number">1</td>' in page
    Cluster.objects.bulk_create(Cluster(name=f"c{n}", kind="slurm") for n in range(60))
    with django_assert_num_queries(4):
        assert "1–50 of 61 clusters shown" in page_text(root_client.get(LIST))


def test_run_that_asks_for_more_than_its_cluster_allows_is_refused(local: Cluster, ada: User) -> None:
    local.config = {"limits": {"gpus": 0, "cores": 4}}
    local.save()
    config = {**preset("es-micro").config, "compute": {"cluster": "local", "gpus": 1, "cores": 2}}
    with pytest.raises(ConfigError, match="must be at most 0 on cluster local, not 1"):
        launching.check_config(RunConfig.from_json(config), ada)
