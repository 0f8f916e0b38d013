"""Clusters over the API and from the command line: the sentences of the page, and configs for admins alone."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from runs.clusters.connection_test import advance_test
from runs.models import Cluster, ClusterTest
from tests.cases import each_case
from tests.runs.api_client import calls
from tests.waiting import wait_until

SLURM = {"kind": "slurm", "config": {"partition": "gpu"}}


def put(person: User, name: str, body: dict[str, Any]) -> Any:
    return calls(person, "admin").put(f"/api/v1/clusters/{name}", body, content_type="application/json")


@pytest.fixture
def root(db: None) -> User:
    return User.objects.create_superuser("root")


def test_an_admin_adds_and_changes_one(root: User) -> None:
    assert put(root, "alps", SLURM).status_code == 201
    changed = put(root, "alps", {"kind": "slurm", "config": {"partition": "cpu"}})
    assert (changed.status_code, changed.json()["config"]) == (200, {"partition": "cpu"})
    assert put(root, "alps", {"kind": "local", "config": {}}).json()["problems"] == [
        {"path": "kind", "message": "must stay slurm; add a cluster with another name instead"}
    ]


def test_each_problem_is_reported_at_its_key(root: User) -> None:
    answer = put(root, "alps", {"kind": "slurm", "config": {"partition": "a b", "modules": 3}})
    assert answer.status_code == 422 and not Cluster.objects.filter(name="alps").exists()
    assert [problem["path"] for problem in answer.json()["problems"]] == ["partition", "modules"]


def test_others_see_names_and_change_nothing(ada: User, root: User, local: Cluster) -> None:
    assert put(ada, "alps", SLURM).status_code == 403
    [seen] = calls(ada, "read").get("/api/v1/clusters").json()["items"]
    assert (seen["name"], seen["kind"], seen["config"]) == ("local", "local", None)
    assert calls(root, "read").get("/api/v1/clusters/local").json()["config"] == {}
    assert calls(ada, "read").get("/api/v1/clusters/none").status_code == 404


def test_the_command_line_adds_changes_lists_and_shows(local: Cluster) -> None:
    assert cluster_command("add", "alps", "slurm", "partition=gpu", 'modules=["cuda/12.4"]').startswith("Added alps.")
    assert Cluster.objects.get(name="alps").config == {"partition": "gpu", "modules": ["cuda/12.4"]}
    assert '"account": "lab"' in cluster_command("set", "alps", "account=lab", "partition=")
    assert '"partition"' not in cluster_command("show", "alps")
    assert "alps\tslurm\tnot checked yet\n" in cluster_command("list")


@each_case(
    ("words", "message"),
    [
        (("add", "local", "slurm"), "name: is taken: there is already a cluster local"),
        (("add", "x", "slurm", "partition=a b"), "partition must be one word"),
        (("add", "x", "slurm", "partition"), "'partition' must have the form KEY=VALUE"),
        (("show", "x"), "Unknown cluster 'x'; the clusters are: local"),
    ],
)
def test_command_reports_invalid_arguments(local: Cluster, words: tuple[str, ...], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        cluster_command(*words)
    assert Cluster.objects.count() == 1


def test_command_takes_digits_as_text(local: Cluster) -> None:
    cluster_command("add", "lab", "slurm", "account=12345", "gpu_type=3090", 'partition="1"', "time_limit_seconds=60")
    cluster_command("set", "lab", "qos=10")
    assert Cluster.objects.get(name="lab").config == {
        "account": "12345", "gpu_type": "3090", "partition": "1", "time_limit_seconds": 60, "qos": "10",
    }  # fmt: skip


def cluster_command(*words: str) -> str:
    out = StringIO()
    call_command("cluster", *words, stdout=out)
    return out.getvalue()


@pytest.fixture
def site(tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"


def run_test(person: User, name: str) -> dict[str, Any]:
    """Begin a test over the API, run it to its end as the worker does, and return the state reported by the API."""
    begun = calls(person, "admin").post(f"/api/v1/clusters/{name}/test")
    assert begun.status_code == 202, begun.content
    assert begun.json()["state"] == "going" and begun.json()["steps"][0]["state"] == "going"
    wait_until(
        lambda: advance_test(ClusterTest.objects.select_related("cluster").get(ended_at=None)),
        "the test of the cluster to end",
        details=lambda: ClusterTest.objects.get(ended_at=None).steps,
    )
    ended = calls(person, "read").get(f"/api/v1/clusters/{name}/test").json()
    assert (ended["id"], ended["cluster"], ended["person"]) == (begun.json()["id"], name, person.username)
    return dict(ended)


def test_api_tests_a_cluster_and_reports_each_step(root: User, local: Cluster, site: None) -> None:
    assert calls(root, "read").get("/api/v1/clusters/local/test").status_code == 404
    first, second = (calls(root, "admin").post("/api/v1/clusters/local/test").json() for _ in range(2))
    assert first == second
    ended = run_test(root, "local")
    assert (ended["state"], {step["state"] for step in ended["steps"]}) == ("passed", {"done"}), ended
    messages = {step["name"]: step["message"] for step in ended["steps"]}
    assert list(messages) == ["reach", "nodes", "submit", "ran", "records", "environment", "gpu"]
    assert messages["gpu"] == "no GPUs: this machine has no NVIDIA driver"
    assert messages["environment"].startswith("CPython")
    assert calls(root, "read").get("/api/v1/clusters/local").json()["answered_at"] is not None


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("ray", {"dashboard": "http://127.0.0.1:9"}),
        ("slurm", {"address": "ssh://nobody@127.0.0.1:9", "folder": "/scratch", "python": "/usr/bin/python3"}),
    ],
    ids=["ray", "slurm"],
)
def test_api_test_of_an_unreachable_cluster_fails_with_its_address(
    root: User, site: None, kind: str, config: dict[str, Any]
) -> None:
    assert put(root, "alps", {"kind": kind, "config": config}).status_code == 201
    ended = run_test(root, "alps")
    first, *others = ended["steps"]
    assert (ended["state"], first["name"], first["state"]) == ("failed", "reach", "failed"), ended
    assert "127.0.0.1:9" in first["message"] and first["message"].endswith("in its config")
    assert {step["state"] for step in others} == {"waiting"}
    cluster = calls(root, "read").get("/api/v1/clusters/alps").json()
    assert cluster["answered_at"] is None and cluster["unreachable_since_at"] is not None
    assert "alps\t" + kind + "\tunreachable since" in cluster_command("list")
    changed = {"kind": kind, "config": {**config, "env": {"A": "b"}}}
    assert put(root, "alps", changed).json()["unreachable_since_at"] is None
    assert f"alps\t{kind}\tnot checked yet" in cluster_command("list")


def test_api_lets_only_admins_with_scope_admin_test_a_cluster(ada: User, root: User, local: Cluster) -> None:
    assert calls(ada, "admin").post("/api/v1/clusters/local/test").status_code == 403
    assert calls(ada, "read").get("/api/v1/clusters/local/test").status_code == 403
    assert calls(root, "launch").post("/api/v1/clusters/local/test").status_code == 403
    assert calls(root, "admin").post("/api/v1/clusters/none/test").status_code == 404
    assert not ClusterTest.objects.exists()


def test_command_tests_a_cluster_and_fails_where_the_test_does(local: Cluster, site: None) -> None:
    assert "local\tlocal\tnot checked yet\n" in cluster_command("list")
    steps = [line.split("\t")[:2] for line in cluster_command("test", "local").splitlines()]
    assert steps == [["done", name] for name in ("reach", "nodes", "submit", "ran", "records", "environment", "gpu")]
    assert "local\tlocal\treplied 20" in cluster_command("list")
    Cluster.objects.update(config={"python": "/opt/none"})
    with pytest.raises(CommandError, match="The test of local failed at step ran"):
        cluster_command("test", "local")
