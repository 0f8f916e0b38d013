"""Every page without runs, with few and with many: its status, and as many queries for many runs as for few.

These need no browser. test_every_page.py opens the same pages in one.
"""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import resolve

from runs.models import Experiment
from tests.browser.filled_site import fill
from tests.browser.page_list import FOR_ADMINISTRATORS, NO_PAGES, STATUSES, all_pages
from tests.conftest import person
from tests.esweb.test_access_of_routes import routes

FEW, CROWD = 4, 64
"""Numbers of runs. `CROWD` is more than a table shows."""
OTHER_ROWS = 24
"""Rows of other kinds besides a crowd of runs: more than a table of experiments or judges shows."""


@pytest.fixture
def ada(db: None) -> User:
    return person("ada")


def set_role_for(ada: User, name: str) -> None:
    """Make Ada an administrator for pages that only they see, and a member for all other pages."""
    User.objects.filter(pk=ada.pk).update(is_superuser=name in FOR_ADMINISTRATORS)


def count_queries(client: Client, name: str, path: str) -> int:
    """Return how many queries a page sends; of its second view, if the first stores rows, as looks of new groups."""
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            assert client.get(path).status_code == STATUSES.get(name, 200), name
        if not any(query["sql"].startswith(("INSERT", "UPDATE")) for query in queries):
            break
    return len(queries)


def test_every_route_of_a_page_is_opened(ada: User, bo: User, experiment: Experiment) -> None:
    fill(experiment, 2)
    names = {name for name, _ in routes() if ":" not in name}
    pages = all_pages(ada, bo, experiment)
    paths = [*(path for name, path in pages.items() if name != "the address of nothing"), "/login/"]
    opened = {resolve(path.partition("?")[0]).url_name for path in paths}
    assert {"neither opened nor no page": names - opened - NO_PAGES, "both": opened & NO_PAGES} == {
        "neither opened nor no page": set(), "both": set(),
    }  # fmt: skip
    assert {name for name, _ in routes()} >= NO_PAGES


@pytest.mark.parametrize("count", [0, pytest.param(1, marks=pytest.mark.soak)])
def test_pages_with_at_most_one_run_are_shown(
    ada: User, ada_client: Client, bo: User, experiment: Experiment, count: int
) -> None:
    fill(experiment, count)
    for name, path in all_pages(ada, bo, experiment).items():
        set_role_for(ada, name)
        assert ada_client.get(path).status_code == STATUSES.get(name, 200), name


@pytest.mark.parametrize(
    ("crowd", "more_queries"),
    # One more, however many runs there are: a table that has more than a page of runs counts them.
    [(CROWD, 1), pytest.param(60, 0, marks=pytest.mark.soak), pytest.param(1000, 1, marks=pytest.mark.soak)],
)
def test_pages_send_as_many_queries_for_many_runs_as_for_few(
    ada: User, ada_client: Client, bo: User, experiment: Experiment, crowd: int, more_queries: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    # A table that finds more than so many does not name them in later queries.
    monkeypatch.setattr("runs.compare.run_table.queries.FEW", crowd // 2)
    fill(experiment, FEW)
    few = {}
    for name, path in all_pages(ada, bo, experiment).items():
        set_role_for(ada, name)
        few[name] = count_queries(ada_client, name, path)
    fill(experiment, crowd - FEW, FEW, max_other_rows=max(OTHER_ROWS, crowd // 10))
    more = {}
    for name, path in all_pages(ada, bo, experiment).items():
        set_role_for(ada, name)
        limit = few[name] + more_queries
        many = count_queries(ada_client, name, path)
        if many > limit:
            more[name] = (few[name], many)
    assert more == {}
