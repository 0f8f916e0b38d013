"""The API's page: every operation, for everybody, from this server alone."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from esweb.api import api

pytestmark = pytest.mark.django_db


def test_every_operation_is_listed_and_described_with_a_command(ada_client: Client) -> None:
    overview = ada_client.get("/api/v1/docs").content.decode()
    assert "<strong>Limits.</strong>" in overview and "<code>Idempotency-Key</code>" in overview
    groups: dict[str, list[str]] = {}
    for methods in api.get_openapi_schema()["paths"].values():
        for operation in methods.values():
            groups.setdefault(operation["tags"][0], []).append(operation["operationId"])
    for group, operations in groups.items():
        page = ada_client.get("/api/v1/docs", {"group": group}).content.decode()
        assert page.count("curl -X ") == len(operations)
        for operation in operations:
            assert f'href="?group={group}#{operation}"' in overview
            assert f'id="{operation}"' in page
    assert "curl -X POST http://testserver/api/v1/experiments" in ada_client.get("/api/v1/docs?group=experiments").text


def test_unknown_group_is_answered_with_the_groups(ada_client: Client) -> None:
    response = ada_client.get("/api/v1/docs", {"group": "models"})
    assert response.status_code == 404
    assert "group must be one of" in response.text and "experiments" in response.text


def test_api_docs_load_nothing_from_other_hosts(ada_client: Client) -> None:
    page = ada_client.get("/api/v1/docs?group=runs").content.decode()
    assert all(address.startswith(("/", "#")) for address in re.findall(r'(?:src|<link[^>]* href)="([^"]+)"', page))
    assert not re.search(r"<script(?![^>]* src=)", page)


def test_everybody_reads_the_page_without_the_menu(client: Client, ada_client: Client) -> None:
    page, own_page = (reader.get("/api/v1/docs?group=runs").text for reader in (client, ada_client))
    assert page.count("curl -X ") == own_page.count("curl -X ") > 0
    assert "Sign out" in own_page and "Sign out" not in page
