"""The address of a fragment leads to its page if a browser opens it; htmx and scripts get the fragment."""

from __future__ import annotations

import pytest
from django.http import StreamingHttpResponse
from django.test import Client
from pytest_django.plugin import DjangoDbBlocker

from esweb.middleware.fragments import PAGES
from tests.esweb.row_of_each_kind import OneOfEach, make_one_of_each
from tests.runs import checkpoint_files
from tests.security.conftest import module_runs_dir, open_connection

__all__ = ["module_runs_dir", "open_connection"]

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
HTMX = {"Accept": "*/*", "HX-Request": "true"}
QUERIES = {
    "compare-section": "section=train",
    "evaluations-chart": "name=pass@k",
    "experiment-lambda-chart": "name=lambda",
    "tournament-board-chart": "name=forest",
    "tournament-board-history-chart": "name=time",
}
"""Queries of fragments that need one other than the default."""


@pytest.fixture(scope="module")
def rows(shared_rows: DjangoDbBlocker, module_runs_dir: None) -> OneOfEach:
    """Return a row of each kind, which all tests here only read."""
    with shared_rows.unblock():
        return make_one_of_each()


@pytest.fixture
def visitor(rows: OneOfEach, open_connection: None) -> Client:
    """Return the browser of the administrator, as it opens an address."""
    client = Client()
    client.force_login(rows.person)
    return client


def test_every_fragment_leads_to_its_page(visitor: Client, rows: OneOfEach) -> None:
    addresses = dict(rows.addresses())
    assert set(PAGES) <= set(addresses)
    for route, (page, element) in PAGES.items():
        query = QUERIES.get(route, "name=reward") + f"&run={rows.run.uid}&x=tokens&as=words"
        response = visitor.get(f"{addresses[route]}?{query}", headers=BROWSER)
        end = f"?run={rows.run.uid}&x=tokens" + (f"#{element}" if element else "")
        assert (response.status_code, response["Location"]) == (302, addresses[page] + end), route


def test_no_address_shows_a_page_without_a_layout(visitor: Client, rows: OneOfEach) -> None:
    shown, bare = 0, list[str]()
    for route, address in rows.addresses():
        if route.startswith(("api:", "admin:")):
            continue
        query = f"{QUERIES.get(route, 'name=reward')}&run={rows.run.uid}"
        response = visitor.get(f"{address}?{query}", headers=BROWSER)
        is_page = response.status_code == 200 and response["Content-Type"].startswith("text/html")
        shown += is_page
        if isinstance(response, StreamingHttpResponse):
            checkpoint_files.close(response)
        elif is_page and "</html>" not in response.content.decode():
            bare.append(route)
    assert bare == []
    assert shown > 30


@pytest.mark.parametrize("headers", [HTMX, {"Accept": "*/*"}, {}], ids=["htmx", "script", "no header"])
def test_htmx_and_scripts_get_the_fragment(visitor: Client, rows: OneOfEach, headers: dict[str, str]) -> None:
    response = visitor.get("/queue/standing/", headers=headers)
    assert response.status_code == 200
    assert "<html" not in response.content.decode()


def test_a_file_is_downloaded(visitor: Client, rows: OneOfEach) -> None:
    response = visitor.get(f"{rows.run.get_absolute_url()}chart/?name=reward&as=csv", headers=BROWSER)
    assert response["Content-Type"].startswith("text/csv")


def test_text_search_of_the_viewer_remains(visitor: Client) -> None:
    response = visitor.get("/responses/scatter/?as=table&as=words_of&q=tea", headers=BROWSER)
    assert response["Location"] == "/responses/?q=tea&as=words_of#scatter"


def test_signed_out_user_signs_in_first() -> None:
    assert Client().get("/queue/standing/", headers=BROWSER)["Location"] == "/login/?next=/queue/standing/"
