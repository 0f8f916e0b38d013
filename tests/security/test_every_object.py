"""Private objects of every kind: each address leads their owner to them, and nobody else.

A route that answers the owner with 404 too, because the object is not there, proves nothing about others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpResponse
from django.test import Client

from tests.runs import checkpoint_files
from tests.runs.api_client import calls
from tests.runs.http.test_api_examples import OPERATIONS, address, example_bodies
from tests.security.every_object import SECRET, Names, make_every_object, page_addresses, path_of

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")
SENT = {
    **{route: {"name": "reward"} for route in ("experiment-chart", "run-chart", "sweep-chart")},
    "shared-chart": {"name": "reward/mean"}, "shared-section": {"section": "train"},
    "experiment-lambda-chart": {"name": "lambda"},
    "run-collapse-chart": {"name": "collapse/shared"}, "evaluations-chart": {"name": "pass@k"},
    "probes-chart": {"measure": "interpolation/reward", "name": "reward"},
    "probes-table": {"measure": "magnitude/norm"}, "tournament-board-history-chart": {"name": "time"},
    "sweep-change": {"do": "pause"}, "queue-change": {"do": "hold"}, "tournament-change": {"do": "pause"},
    "judge-change": {"do": "retire"}, "assignment-change": {"do": "cancel"},
}  # fmt: skip
"""What a route needs to get as far as its object, besides its address: a query, or a form."""
FOR_HOLDERS = {"shared", "shared-chart", "shared-section", "sign-in", "invitation", "vote-link"}
"""Routes whose address is a secret in itself."""
FOR_EVERYBODY = {
    "criterion", "rubric", "adapt_preset", "beat_service", "read_cluster", "read_cluster_test"
}  # fmt: skip
"""Routes of objects that all members see."""
FOR_ADMINS = {
    "settings-cluster", "settings-cluster-test", "settings-cluster-test-steps", "settings-person", "limit-remove",
    "put_cluster", "test_cluster", "remove_limit",
}  # fmt: skip


def test_each_address_leads_the_owner_to_an_object(ada: User) -> None:
    names = make_every_object(ada)
    missing = {name for name, response in responses(ada, names) if response.status_code in (404, 500)}
    assert missing == set(), "create the object in every_object.py, or name what the route needs in SENT"


def test_no_address_leads_another_member_to_a_private_object(ada: User, bo: User) -> None:
    names = make_every_object(ada)
    problems = [
        f"{name} answered {response.status_code}"
        for name, response in responses(bo, names)
        if name not in FOR_HOLDERS | FOR_EVERYBODY
        if response.status_code != (403 if name in FOR_ADMINS else 404) or shows_secret(response)
    ]
    assert problems == []


def responses(person: User, names: Names) -> Iterator[tuple[str, HttpResponse]]:
    """Yield (route or operation, its response to this user). Each response is closed, and each change undone."""
    for name, page in page_addresses(names).items():
        yield from undone(name, partial(page_response, person, page, SENT.get(name, {})))
    for name, (method, path, operation) in OPERATIONS.items():
        if "{" in path:
            yield from undone(name, partial(operation_response, person, method, path_of(name, path, names), operation))


def page_response(person: User, page: str, sent: dict[str, str]) -> HttpResponse:
    """Return the response by the first method that the page accepts."""
    client = Client(raise_request_exception=False)
    client.force_login(person)
    response: HttpResponse = client.get(page, sent)
    return client.post(page, sent) if response.status_code == 405 else response


def operation_response(person: User, method: str, path: str, operation: dict[str, Any]) -> HttpResponse:
    """Return the response of the API to the operation's example."""
    body = next(example_bodies(operation), {})
    response: HttpResponse = getattr(calls(person, "admin"), method)(address(path, operation), **body)
    return response


def undone(name: str, send: Callable[[], HttpResponse]) -> Iterator[tuple[str, HttpResponse]]:
    with transaction.atomic():
        response = send()
        yield name, response
        if response.streaming:
            checkpoint_files.close(response)
        transaction.set_rollback(True)


def shows_secret(response: HttpResponse) -> bool:
    """Return whether the response has the text of private objects, other than from its own address."""
    if response.streaming:
        return True
    path = response.request["PATH_INFO"]
    return SECRET in response.content.decode().replace(path.rpartition("/")[2], "")
