"""The button that tests a cluster: one job on this very machine, each step told while it goes on."""

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


def test_it_is_begun_once_told_and_done(
    root_client: Client, local: Cluster, tmp_path: Path, settings: Settings
) -> None:
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"
    assert "Test it" in words(root_client)
    for _ in range(2):
        assert root_client.post(f"{PAGE}test/").status_code == 302
    test = ClusterTest.objects.get()
    assert (
        "going on Reach it" in words(root_client) and 'hx-trigger="every 2s"' in root_client.get(PAGE).content.decode()
    )
    wait_until(
        lambda: advance_test(ClusterTest.objects.select_related("cluster").get(pk=test.pk)),
        "the test of the cluster to end",
        details=lambda: ClusterTest.objects.get().steps,
    )
    steps = words(root_client, f"{PAGE}test/steps/")
    assert "All well" in steps and "done Python and torch work there: CPython" in steps and "Test it again" in steps
    assert "every 2s" not in root_client.get(f"{PAGE}test/steps/").content.decode()


def test_a_step_that_failed_is_told(root_client: Client, local: Cluster, tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"
    Cluster.objects.update(config={"python": "/opt/none"})
    root_client.post(f"{PAGE}test/")
    wait_until(
        lambda: advance_test(ClusterTest.objects.select_related("cluster").get()),
        "the test of the cluster to end",
        details=lambda: ClusterTest.objects.get().steps,
    )
    said = words(root_client)
    assert "Failed, begun" in said and "failed The job runs: it ended with exit code 127" in said
    assert "not yet Its records come back" in said


def test_nobody_but_an_admin_begins_one(ada_client: Client, local: Cluster) -> None:
    assert ada_client.post(f"{PAGE}test/").status_code == 403
    assert ada_client.get(f"{PAGE}test/steps/").status_code == 403
    assert not ClusterTest.objects.exists()
