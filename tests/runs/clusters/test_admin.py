"""Admin pages of clusters: only administrators reach them, and each problem of a config is reported."""

import json

import pytest
from django.test import Client

from runs.clusters.settings import config_errors
from runs.models import Cluster
from tests.cases import each_case


@pytest.fixture
def admin_client(ada):
    ada.is_staff = ada.is_superuser = True
    ada.save()
    client = Client()
    client.force_login(ada)
    return client


def saved(client, cluster, config):
    """Return the answer to the admin's form with this config, as text or as JSON."""
    text = config if isinstance(config, str) else json.dumps(config)
    form = {"name": cluster.name, "kind": cluster.kind, "config": text}
    return client.post(f"/admin/runs/cluster/{cluster.pk}/change/", form)


def test_an_administrator_allows_a_folder_for_tasks(admin_client, local, tmp_path):
    page = admin_client.get(f"/admin/runs/cluster/{local.pk}/change/").content.decode()
    assert "task_paths: the folders in which users may" in page
    assert saved(admin_client, local, {"task_paths": [str(tmp_path)], "cores": 2}).status_code == 302
    assert Cluster.objects.get(pk=local.pk).config == {"task_paths": [str(tmp_path)], "cores": 2}


def test_an_empty_config_is_one(admin_client, local):
    assert saved(admin_client, local, {}).status_code == 302


def test_invalid_config_lists_every_problem_and_is_not_saved(admin_client, local):
    answer = saved(admin_client, local, {"task_paths": ["tasks"], "coers": 2})
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "must be absolute and without .." in page
    assert "is not a known key; the keys are cores, gpus, mps, waits, task_paths" in page
    assert Cluster.objects.get(pk=local.pk).config == {}


@each_case(
    ("config", "message"),
    [
        ([], "must be an object such as"),
        ({"cores": 0}, "cores must be a whole number from 1, not 0"),
        ({"cores": True}, "cores must be a whole number"),
        ({"gpus": "0"}, "gpus must be a list of GPUs by index or UUID, as nvidia-smi -L lists them"),
        ({"gpus": [-1]}, "gpus must be a list of GPUs"),
        ({"gpus": [True]}, "gpus must be a list of GPUs"),
        ({"gpus": ["0,1"]}, "gpus must be a list of GPUs"),
        ({"gpus": 1}, "gpus must be a list of GPUs"),
        ({"waits": 3}, "waits must be an object of seconds; the names are grace, beat"),
        ({"waits": {"grce": 3}}, "'grce' is not a known name; the names are grace"),
        ({"waits": {"grace": "3"}}, "grace must be a number of seconds, not '3'"),
        ({"task_paths": "/srv"}, "task_paths must be a list of folders"),
        ({"task_paths": [3]}, "task_paths must be a list of folders"),
        ({"task_paths": ["/srv/../etc"]}, "must be absolute and without .."),
        ({"task_paths": ["/a:b"]}, "must hold no :"),
        ({"task_paths": ["/"]}, "must be a folder, not the whole file system"),
        ({"task_paths": ["/no/such/folder"]}, "/no/such/folder is not a folder on this machine"),
    ],
)
def test_invalid_cluster_is_reported(config, message):
    (complaint,) = config_errors(config)
    assert message in complaint


@each_case(
    ("config", "message"),
    [
        ({"cores": 2}, "'cores' is not a known key; the keys are partition, account, qos"),
        ({"partition": "main; touch /tmp/x"}, "partition must be one word of letters, digits and"),
        ({"account": "--wrap=id"}, "account must be one word"),
        ({"qos": 3}, "qos must be one word"),
        ({"time_limit_seconds": -1}, "time_limit_seconds must be a whole number from 0, not -1"),
        ({"modules": "cuda"}, "modules must be a list such as"),
        ({"modules": ["$(id)"]}, "modules must be a list such as"),
        ({"env": ["A=1"]}, "env must be an object such as"),
        ({"env": {"A-B": "1"}}, "env: 'A-B' is not a valid name of a variable"),
        ({"env": {"A": "1\n2"}}, "env: A must be text of one line"),
        ({"env": {"HF_TOKEN": "x"}}, "env: HF_TOKEN looks like a secret"),
        ({"python": "python3"}, "python must be an absolute path without .., not 'python3'"),
        ({"slurm_conf": "/a/../b"}, "slurm_conf must be an absolute path"),
        ({"waits": {"grce": 1}}, "'grce' is not a known name"),
    ],
)
def test_invalid_slurm_cluster_is_reported(config, message):
    (complaint,) = config_errors(config, "slurm")
    assert message in complaint


def test_an_administrator_adds_a_slurm_cluster(admin_client):
    config = {"partition": "gpu", "account": "lab", "modules": ["cuda/12.4"], "env": {"HF_HOME": "/shared/hf"}}
    config["env"]["TOKENIZERS_PARALLELISM"] = "true"
    form = {"name": "bwuni", "kind": "slurm", "config": json.dumps(config)}
    assert admin_client.post("/admin/runs/cluster/add/", form).status_code == 302
    assert Cluster.objects.get(name="bwuni").config == config


RAY = {"dashboard": "http://127.0.0.1:8265"}


@each_case(
    ("config", "message"),
    [
        ({}, "dashboard must be an address such as http://127.0.0.1:8265, not ''"),
        ({"dashboard": 3}, "dashboard must be an address"),
        ({"dashboard": "127.0.0.1:8265"}, "dashboard must be an address"),
        ({"dashboard": "ray://127.0.0.1:10001"}, "dashboard must be an address"),
        ({"dashboard": "http://127.0.0.1:x"}, "dashboard must be an address"),
        ({"dashboard": "http://[127.0.0.1:1"}, "dashboard must be an address"),
        (
            {"dashboard": "http://ada:secret@127.0.0.1"},
            "a password, ? or #; put a token into the file",
        ),
        ({"dashboard": "http://127.0.0.1/?x=1"}, "without a name, a password, ? or #"),
        (
            {"dashboard": "http://169.254.169.254"},
            "169.254.169.254 is not one of the hosts with a Ray",
        ),
        (
            {"dashboard": "http://127.0.0.1.ray.example"},
            "localhost, 127.0.0.1, ::1; its operator can add hosts to ESWEB_RAY",
        ),
        ({**RAY, "dashbord": ""}, "'dashbord' is not a known key; the keys are dashboard, token_file, resources"),
        ({**RAY, "token_file": "token"}, "token_file must be an absolute path without .., not 'token'"),
        ({**RAY, "start_seconds": -1}, "start_seconds must be a whole number from 0, not -1"),
        ({**RAY, "resources": ["A100"]}, "resources must be an object of amounts such as"),
        ({**RAY, "resources": {"A100": "1"}}, "resources must be an object of amounts such as"),
        ({**RAY, "resources": {"A100": 0}}, "resources must be an object of amounts such as"),
        ({**RAY, "env": {"RAY_AUTH_TOKEN": "x"}}, "env: RAY_AUTH_TOKEN looks like a secret"),
        ({**RAY, "waits": {"grce": 1}}, "'grce' is not a known name"),
    ],
)
def test_invalid_ray_cluster_is_reported(config, message):
    (complaint,) = config_errors(config, "ray")
    assert message in complaint


def test_an_administrator_adds_a_ray_cluster_on_a_host_that_is_allowed(admin_client, settings):
    config = {
        "dashboard": "https://Ray.Lab:8265",
        "token_file": "/etc/ray-token",
        "resources": {"accelerator_type:A100": 1},
    }
    form = {"name": "rays", "kind": "ray", "config": json.dumps(config)}
    assert "ray.lab is not one of the hosts" in admin_client.post("/admin/runs/cluster/add/", form).content.decode()
    settings.RAY_HOSTS = ["ray.lab", "[::1]"]
    assert admin_client.post("/admin/runs/cluster/add/", form).status_code == 302
    assert Cluster.objects.get(name="rays").config == config
    assert not list(config_errors({"dashboard": "http://[::1]:8265"}, "ray"))


def test_admin_pages_refuse_other_users(bo_client, local, client):
    assert bo_client.get("/admin/", follow=True).status_code == 403
    assert bo_client.post(f"/admin/runs/cluster/{local.pk}/change/", {}, follow=True).status_code == 403
    assert client.get("/admin/")["Location"] == "/login/?next=/admin/"
