"""The services page with none, some and many services, alive or silent, limited to those that the user may use."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from runs.models import Service
from runs.service_registry import commands
from runs.service_registry.commands import Registration

pytestmark = pytest.mark.django_db


def register(owner, name="safety", **changes):
    fields = {"kind": "scorer", "instance": "one", "address": "http://node7:8000", "version": "<b>1</b>", **changes}
    return commands.register(owner, Registration(name=name, **fields))


@pytest.fixture(autouse=True)
def node_hosts(settings):
    """Allow the nodes on which members' services of these tests run."""
    settings.SCORER_HOSTS = ["node7", "node8", "localhost"]


def page(client, **query):
    return " ".join(client.get(reverse("services"), **query).content.decode().split())


def test_empty_page_explains_registration(ada_client):
    assert "No service has registered" in page(ada_client) and "of scope <code>serve</code>" in page(ada_client)


def test_one_is_a_row_with_its_state_and_age(ada_client, ada):
    register(ada, health_path="/health")
    Service.objects.update(beat_at=timezone.now() - timedelta(minutes=90))
    for words in ("1 service<", "safety", "alive", "1 h ago", "http://node7:8000/health", "&lt;b&gt;1", "you"):
        assert words in page(ada_client)
    Service.objects.update(expires_at="2020-01-01T00:00:00Z")
    assert "silent" in page(ada_client) and "alive" not in page(ada_client)


def test_members_services_are_private_and_admins_shared(ada_client, bo):
    register(bo, "bos-own")
    register(User.objects.create(username="root", is_superuser=True), "shared")
    assert "bos-own" not in page(ada_client) and "root, for all users" in page(ada_client)


def test_services_are_paged_with_a_constant_number_of_queries(ada_client, ada, django_assert_num_queries):
    register(ada, "s000")
    with django_assert_num_queries(4) as few:
        page(ada_client)
    for n in range(1, 60):
        register(ada, f"s{n:03}")
    with django_assert_num_queries(len(few)):
        text = page(ada_client)
    assert "1–50 of 60 services shown" in text and "s049" in text and "s050" not in text
    assert "s050" in page(ada_client, query_params={"page": 2})


def test_an_open_page_asks_for_its_table_alone(ada_client, ada):
    register(ada)
    part = page(ada_client, headers={"hx-request": "true"})
    assert "safety" in part and "<html" not in part
