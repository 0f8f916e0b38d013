"""The button that tests a cluster: one job on this machine, with each step reported as it runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from runs.clusters.connection_test import advance_test
from runs.models import Cluster, ClusterTest
from tests.waiting import wait_until

PAGE = "/settings/clusters/of/local/"


@pytest.fixture
def root_client(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def words(client: Client, address: str = PAGE) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", client.get(address).content.decode()).split())


def test_connection_test_runs_once_and_reports_each_step(
    root_client: Client, local: Cluster, tmp_path: Path, settings: Settings
) -> None:
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"
    assert "Test cluster" in words(root_client)
    for _ in range(2):
        assert root_client.post(f"{PAGE}test/").status_code == 302
    test = ClusterTest.objects.get()
    assert "running Connect to the cluster" in words(root_client)
    assert 'hx-trigger="every 2s"' in root_client.get(PAGE).content.decode()
    wait_until(
        lambda: advance_test(ClusterTest.objects.select_related("cluster").get(pk=test.pk)),
        "the test of the cluster to end",
        details=lambda: ClusterTest.objects.get().steps,
    )
    steps = words(root_client, f"{PAGE}test/steps/")
    assert "Passed" in steps and "done Check Python and torch: CPython" in steps and "Test again" in steps
    assert "every 2s" not in root_client.get(f"{PAGE}test/steps/").content.decode()


def test_failed_step_is_reported(root_client: Client, local: Cluster, tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"
    Cluster.objects.update(config={"python": "/opt/none"})
    root_client.post(f"{PAGE}test/")
    wait_until(
        lambda: advance_test(ClusterTest.objects.select_related("cluster").get()),
        "the test of the cluster to end",
        details=lambda: ClusterTest.objects.get().steps,
    )
    text = words(root_client)
    assert "Failed, started" in text and "failed Run the job: it ended with exit code 127" in text
    assert "not run Read its records back" in text


def test_nobody_but_an_admin_begins_one(ada_client: Client, local: Cluster) -> None:
    assert ada_client.post(f"{PAGE}test/").status_code == 403
    assert ada_client.get(f"{PAGE}test/steps/").status_code == 403
    assert not ClusterTest.objects.exists()
