"""Every page, without runs and with many of them: it fits its window and the console stays quiet.

A page sends as many queries to the database for many runs as for few.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import resolve
from playwright.sync_api import Page

from runs.models import Experiment
from tests import soak_plugin
from tests.browser.filled_site import crowd_size, fill
from tests.browser.page_idle import find_overflow
from tests.browser.page_list import FOR_ADMINISTRATORS, NO_PAGES, STATUSES, all_pages
from tests.conftest import person
from tests.esweb.test_access_of_routes import routes
from tests.runs.many_runs import LONG_NAME, TAGS

WIDTHS = (1440, 390)
FEW, MANY, CROWD = 4, 60, crowd_size(1000)
"""Numbers of runs. `CROWD` is more than any page shows."""


@pytest.fixture
def bo(transactional_db: None) -> User:
    return person("bo")


@pytest.fixture
def crowded_experiment(ada: User, bo: User) -> Experiment:
    """Return the experiment of all runs, with a name of the maximal length."""
    return Experiment.objects.create(name=LONG_NAME[:200], question="Why? " * 60, tags=TAGS, owner=ada)


def set_role_for(ada: User, name: str) -> None:
    """Make Ada an administrator for pages that only they see, and a member for all other pages."""
    User.objects.filter(pk=ada.pk).update(is_superuser=name in FOR_ADMINISTRATORS)


def test_every_route_of_a_page_is_opened(ada, bo, crowded_experiment):
    fill(crowded_experiment, 2)
    names = {name for name, _ in routes() if ":" not in name}
    opened = {resolve(path.partition("?")[0]).url_name for path in page_paths(ada, bo, crowded_experiment)}
    assert {"neither opened nor no page": names - opened - NO_PAGES, "both": opened & NO_PAGES} == {
        "neither opened nor no page": set(), "both": set(),
    }  # fmt: skip
    assert {name for name, _ in routes()} >= NO_PAGES


def page_paths(ada: User, bo: User, crowded_experiment: Experiment) -> list[str]:
    """Return the addresses of all pages, and of the sign-in page."""
    paths = all_pages(ada, bo, crowded_experiment)
    return [path for name, path in paths.items() if name != "the address of nothing"] + ["/login/"]


@pytest.mark.parametrize("count", [0, 1])
def test_pages_with_at_most_one_run_fit_without_console_messages(
    signed_in, address, complaints, ada, bo, crowded_experiment, count
):
    fill(crowded_experiment, count)
    check_every_page(signed_in, address, all_pages(ada, bo, crowded_experiment), complaints, ada)


def test_pages_with_many_runs_fit_with_constant_queries(
    signed_in, address, complaints, ada, bo, crowded_experiment, monkeypatch
):
    # A table that finds more than so many does not name them in later queries.
    monkeypatch.setattr("runs.compare.run_table.queries.FEW", CROWD // 2)
    query_counts: dict[str, list[int]] = {}
    client = Client()
    client.force_login(ada)
    for count, first in ((FEW, 0), (MANY - FEW, FEW), (CROWD - MANY, MANY)):
        fill(crowded_experiment, count, first)
        for name, path in all_pages(ada, bo, crowded_experiment).items():
            set_role_for(ada, name)
            # The first view stores the looks of the groups on charts.
            client.get(path)
            with CaptureQueriesContext(connection) as queries:
                assert client.get(path).status_code == STATUSES.get(name, 200), name
            query_counts.setdefault(name, []).append(len(queries))
    # One more, however many there are: a table that has more than a page of runs counts them.
    assert {
        name: counts for name, counts in query_counts.items() if counts[1] > counts[0] or counts[2] > counts[0] + 1
    } == {}
    check_every_page(signed_in, address, all_pages(ada, bo, crowded_experiment), complaints, ada)


def check_every_page(page: Page, site: str, paths: dict[str, str], complaints: list[str], ada: User) -> None:
    """Open each page, at last the sign-in page. None may be too wide or cause messages in the console."""
    overflows: list[str] = []
    for name, path in paths.items():
        set_role_for(ada, name)
        assert page.goto(site + path).status == STATUSES.get(name, 200), name
        overflows += [f"{name}, {overflow}" for overflow in find_overflows(page)]
        complaints[:] = [
            f"{name}: {message}" for message in complaints if f"status of {STATUSES.get(name)}" not in message
        ]
        assert complaints == []
    page.context.clear_cookies(name="sessionid")
    page.goto(site)
    assert page.title() == "Sign in · esweb"
    assert [*overflows, *find_overflows(page)] == []
    soak_plugin.count(len(paths) + 1, "pages")


def find_overflows(page: Page) -> Iterator[str]:
    """Yield the view and the elements that overflow there. The first width is the one that the page was opened at."""
    is_narrow = page.viewport_size is not None and page.viewport_size["width"] == min(WIDTHS)
    for width in sorted(WIDTHS, reverse=not is_narrow):
        page.set_viewport_size({"width": width, "height": 900})
        for theme in ("light", "dark"):
            page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
            if overflow := find_overflow(page, width):
                yield f"{theme}, {width} px: {overflow}"
