"""What /healthz answers."""

from __future__ import annotations

import pytest
from django.test import Client

from runs.models import Cluster


@pytest.mark.django_db
def test_a_stranger_learns_that_all_is_well(client: Client) -> None:
    answer = client.get("/healthz")
    assert answer.status_code == 200
    assert answer.json() == {"database": "ok", "redis": "ok"}


@pytest.mark.django_db
def test_a_silent_redis_makes_it_ill(client: Client, settings, tmp_path) -> None:
    settings.CACHES = {
        **settings.CACHES,
        "default": {**settings.CACHES["default"], "LOCATION": f"unix://{tmp_path}/no"},
    }
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert answer.json() == {"database": "ok", "redis": "does not answer"}


def test_this_machine_is_a_cluster_from_the_first_migration_on(local: Cluster) -> None:
    assert local.kind == "local"
