"""No cache but the reader's own stores what needs a session or a token, and it asks again before it is used."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponseBase
from django.test import Client

from runs.access import Scope, link_text
from runs.models import Experiment
from tests.runs.api_client import calls
from tests.runs.full_runs import make_run


def directives(response: HttpResponseBase, header: str) -> set[str]:
    """Return the values in a header of a response, in small letters."""
    return {value.strip().lower() for value in response.headers.get(header, "").split(",")}


def is_private(response: HttpResponseBase) -> bool:
    """Return whether only the reader's cache may store the response, and asks again before it uses it."""
    rules, depends_on = directives(response, "Cache-Control"), directives(response, "Vary")
    return "private" in rules and bool({"no-cache", "no-store"} & rules) and "cookie" in depends_on


PLACES = (
    "/", "/experiments/", "/experiments/{experiment}/", "/runs/{run}/", "/runs/{run}/chart/?name=reward&as=csv",
    "/settings/tokens/", "/share/?page=run&run={run}", "/api/v1/runs", "/admin/", "/api/v1/docs", "/login/", "/healthz",
    "/nosuch/", "/api/v1/nosuch",
)  # fmt: skip
"""A page of each kind, a file, an operation, and pages for everybody."""


def test_pages_and_operations_are_private(
    ada: User, ada_client: Client, experiment: Experiment, runs_dir: Path
) -> None:
    User.objects.filter(pk=ada.pk).update(is_superuser=True, is_staff=True)
    run = make_run(experiment)
    others = [
        (address, response.headers)
        for address in PLACES
        if not is_private(response := ada_client.get(address.format(run=run.uid, experiment=experiment.pk)))
    ]
    assert others == []


def test_answer_to_a_token_is_private_and_depends_on_the_token(ada: User) -> None:
    response = calls(ada, "read").get("/api/v1/me")
    assert is_private(response)
    assert "authorization" in directives(response, "Vary")
    again = calls(ada, "read").get("/api/v1/runs", headers={"if-none-match": response.get("ETag", "")})
    assert is_private(again)


@pytest.mark.django_db
def test_refusals_and_redirects_are_private(client: Client) -> None:
    for address, status in (("/", 302), ("/api/v1/runs", 401), ("/nosuch/", 404), ("/shared/nosuch/", 404)):
        response = client.get(address)
        assert (response.status_code, is_private(response)) == (status, True), address


def test_page_of_new_tokens_is_not_stored_at_all(ada_client: Client) -> None:
    assert "no-store" in directives(ada_client.get("/settings/tokens/"), "Cache-Control")


def test_shared_page_is_private_and_checked_again(ada: User, client: Client, experiment: Experiment) -> None:
    text = link_text(ada, Scope.RUN, [make_run(experiment).uid], "day")
    response = client.get(f"/shared/{text}/")
    assert {"private", "no-cache"} <= directives(response, "Cache-Control")


@pytest.mark.django_db
def test_static_file_is_cached(client: Client) -> None:
    response = client.get("/static/css/app.css")
    assert response.status_code == 200
    assert "private" not in directives(response, "Cache-Control")
    assert "cookie" not in directives(response, "Vary")
