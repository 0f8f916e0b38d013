"""Private objects of every kind: each address leads their owner to them, and nobody else.

A route that answers the owner with 404 too, because the object is not there, proves nothing about others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from unittest import mock

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpResponse
from django.template.response import SimpleTemplateResponse
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
    "import-folder-stop", "import_folder", "read_folder", "stop_folder",
    "put_cluster", "test_cluster", "remove_limit",
}  # fmt: skip


def test_each_page_leads_the_owner_to_an_object(ada: User) -> None:
    """tests/runs/http/test_api_examples.py proves it for the operations of the API."""
    names = make_every_object(ada)
    # What a page says does not matter here.
    with mock.patch.object(SimpleTemplateResponse, "rendered_content", ""):
        replies = [(name, response.status_code) for name, response in page_responses(ada, names)]
    missing = {name for name, status in replies if status in (404, 500)}
    assert missing == set(), "create the object in every_object.py, or name what the route needs in SENT"


def test_no_address_leads_another_member_to_a_private_object(ada: User, bo: User) -> None:
    names = make_every_object(ada)
    problems = [
        f"{name} answered {response.status_code}"
        for name, response in (*page_responses(bo, names), *operation_responses(bo, names))
        if name not in FOR_HOLDERS | FOR_EVERYBODY
        if response.status_code != (403 if name in FOR_ADMINS else 404) or shows_secret(response)
    ]
    assert problems == []


def page_responses(person: User, names: Names) -> Iterator[tuple[str, HttpResponse]]:
    """Yield (route, its response to this user). Each response is closed, and each change undone."""
    browser = Client(raise_request_exception=False)
    browser.force_login(person)
    session = browser.cookies[settings.SESSION_COOKIE_NAME].value
    for name, page in page_addresses(names).items():
        # A link gives the browser another session, which is undone with it.
        browser.cookies[settings.SESSION_COOKIE_NAME] = session
        yield from undone(name, partial(page_response, browser, page, SENT.get(name, {})))


def page_response(browser: Client, page: str, sent: dict[str, str]) -> HttpResponse:
    """Return the response by the first method that the page accepts."""
    response: HttpResponse = browser.get(page, sent)
    return browser.post(page, sent) if response.status_code == 405 else response


def operation_responses(person: User, names: Names) -> Iterator[tuple[str, HttpResponse]]:
    """Yield (operation of the API, its response to this user's example). Each change is undone."""
    script = calls(person, "admin")
    for name, (method, path, operation) in OPERATIONS.items():
        if "{" in path:
            body = next(example_bodies(operation), {})
            target = address(path_of(name, path, names), operation)
            yield from undone(name, partial(getattr(script, method), target, **body))


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
