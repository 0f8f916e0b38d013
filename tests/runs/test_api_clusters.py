"""Clusters over the API and from the command line: the sentences of the page, and configs for admins alone."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from runs.models import Cluster
from tests.runs.calling import calls

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
        {"path": "kind", "message": "must be slurm, as it is: add a cluster of another name"}
    ]


def test_every_problem_is_told_at_its_key(root: User) -> None:
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
    assert said("add", "alps", "slurm", "partition=gpu", 'modules=["cuda/12.4"]').startswith("Added alps.")
    assert Cluster.objects.get(name="alps").config == {"partition": "gpu", "modules": ["cuda/12.4"]}
    assert '"account": "lab"' in said("set", "alps", "account=lab", "partition=")
    assert '"partition"' not in said("show", "alps")
    assert "alps\tslurm\tnot asked yet\n" in said("list")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("add", "local", "slurm"), "name: is taken: there is a cluster local already"),
        (("add", "x", "slurm", "partition=a b"), "partition must be one word"),
        (("add", "x", "slurm", "partition"), "'partition' is no KEY=VALUE"),
        (("show", "x"), "There is no cluster 'x'; there are: local"),
    ],
)
def test_the_command_line_says_what_is_wrong(local: Cluster, words: tuple[str, ...], why: str) -> None:
    with pytest.raises(CommandError, match=why):
        said(*words)
    assert Cluster.objects.count() == 1


def said(*words: str) -> str:
    out = StringIO()
    call_command("cluster", *words, stdout=out)
    return out.getvalue()
