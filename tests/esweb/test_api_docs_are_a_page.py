"""The API's page: every operation, for whoever is signed in, from this server alone."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from esweb.api import api

pytestmark = pytest.mark.django_db


def test_every_operation_stands_on_it_with_a_command_to_paste(ada_client: Client) -> None:
    page = ada_client.get("/api/v1/docs").content.decode()
    operations = [op for methods in api.get_openapi_schema()["paths"].values() for op in methods.values()]
    assert len(operations) == page.count("curl -X ")
    for operation in operations:
        assert f'id="{operation["operationId"]}"' in page
    assert "curl -X POST http://testserver/api/v1/experiments" in page
    assert "<strong>Limits.</strong>" in page and "<code>Idempotency-Key</code>" in page


def test_it_loads_nothing_from_elsewhere_and_runs_no_script_of_its_own(ada_client: Client) -> None:
    page = ada_client.get("/api/v1/docs").content.decode()
    assert all(address.startswith("/") for address in re.findall(r'(?:src|<link[^>]* href)="([^"]+)"', page))
    assert not re.search(r"<script(?![^>]* src=)", page)


def test_a_stranger_is_sent_to_sign_in(client: Client) -> None:
    assert client.get("/api/v1/docs")["Location"].startswith("/login/?next=/api/v1/docs")
