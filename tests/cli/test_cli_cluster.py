"""`esweb cluster ls` and `esweb cluster test`, against the real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from esweb_client.cli.errors import BAD_INPUT, ENDED_BADLY, NOT_ALLOWED, NOT_FOUND
from runs import access
from runs.clusters.connection_test import advance_tests
from runs.models import Cluster
from tests.cli.background import repeating
from tests.cli.conftest import RunCli
from tests.runs.clusters.stored_inventories import make_cluster
from workers.executors.base import NodeShape


@pytest.fixture
def admin(token: str, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make Ada an admin, whose token has scope admin."""
    access.give_role(ada, "admin")
    monkeypatch.setenv("ESWEB_TOKEN", access.issue(ada, "admin")[1])


def test_clusters_are_listed(run_cli: RunCli, local: Cluster) -> None:
    make_cluster("alps", "slurm", NodeShape(2, 64, 0, 4, "a100", "main", 16), NodeShape(1, 8, 0, 1))
    code, out, _ = run_cli("cluster", "ls")
    assert code == 0 and out.splitlines()[0].split() == ["name", "kind", "state", "nodes"]
    assert out.splitlines()[1].split()[:5] == ["alps", "slurm", "not", "checked", "yet"]
    assert "2 × 64 cores, 4 a100 in 16 shards; 1 × 8 cores, 1 GPU" in out
    assert "local" in out and "1 × " in out
    assert [row["name"] for row in json.loads(run_cli("cluster", "ls", "--json")[1])] == ["alps", "local"]


@pytest.mark.usefixtures("admin")
def test_each_step_of_a_test_is_printed(run_cli: RunCli, local: Cluster, tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"
    with repeating(lambda: advance_tests(local)):
        code, out, _ = run_cli("cluster", "test", "local", "--every", "0.1")
    assert code == 0, out
    lines = out.splitlines()
    steps = ["reach", "nodes", "submit", "ran", "records", "environment", "gpu"]
    assert [line.split()[:2] for line in lines[:-1]] == [["done", step] for step in steps]
    assert lines[-1] == "local  passed"


@pytest.mark.usefixtures("admin")
def test_failed_test_has_its_exit_code(run_cli: RunCli, tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"
    far = Cluster.objects.create(name="far", kind="ray", config={"dashboard": "http://127.0.0.1:9"})
    with repeating(lambda: advance_tests(far)):
        code, out, _ = run_cli("cluster", "test", "far", "--every", "0.1", "--json")
    assert (code, json.loads(out)["state"]) == (ENDED_BADLY, "failed")
    assert "127.0.0.1:9" in json.loads(out)["steps"][0]["message"]
    assert run_cli("cluster", "test", "none")[0] == NOT_FOUND


def test_only_admins_test_clusters(run_cli: RunCli, local: Cluster) -> None:
    assert run_cli("cluster", "test", "local")[0] == NOT_ALLOWED
    assert run_cli("cluster", "test")[0] == run_cli("cluster", "ls", "local")[0] == BAD_INPUT
