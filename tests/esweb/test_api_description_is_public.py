"""The OpenAPI document and its page are readable by everybody, and contain nothing of the database."""

from __future__ import annotations

import pytest
from django.test import Client

from runs.models import Cluster, Experiment, Run
from tests.runs.full_runs import make_run
from tests.security.sample_rows import SECRET


def test_description_is_public_and_contains_no_data(
    client: Client, ada_client: Client, experiment: Experiment, local: Cluster
) -> None:
    make_run(experiment)
    Experiment.objects.update(name=SECRET, question=SECRET)
    Run.objects.update(name=SECRET, preset=SECRET)
    Cluster.objects.update(name="secret-cluster")
    response = client.get("/api/v1/openapi.json")
    assert response.status_code == 200 and "/api/v1/runs" in response.json()["paths"]
    assert SECRET.encode() not in response.content and b"secret-cluster" not in response.content
    assert response.content == ada_client.get("/api/v1/openapi.json").content
    assert client.get("/api/v1/openapi.json", headers={"if-none-match": response["ETag"]}).status_code == 304


@pytest.mark.django_db
def test_description_is_read_only(client: Client) -> None:
    for address in ("/api/v1/openapi.json", "/api/v1/docs"):
        assert client.head(address).status_code == 200
        assert client.post(address).status_code == 405


@pytest.mark.django_db
def test_wrong_token_does_not_hide_the_description(client: Client) -> None:
    assert client.get("/api/v1/openapi.json", headers={"authorization": "Bearer esw_wrong"}).status_code == 200
