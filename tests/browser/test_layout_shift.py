"""Every page stays where it is while it loads, narrow and wide, on a fast connection and on a slow one.

`make test` opens every page once, each on a connection of one speed and at one width (test_every_page.py).
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from runs.models import Experiment
from tests import soak_plugin
from tests.browser.filled_site import fill
from tests.browser.page_list import STATUSES, all_pages, drawn_pages
from tests.browser.page_walk import make_tabs, open_pages
from tests.conftest import person


@pytest.fixture
def paths(experiment: Experiment) -> dict[str, str]:
    """Return page name -> path of every page that Ada may open, filled with a few rows of each kind."""
    ada = experiment.owner
    fill(experiment, 4)
    drawn = drawn_pages(experiment)
    type(ada).objects.filter(pk=ada.pk).update(is_superuser=True)
    pages = all_pages(ada, person("bo"), experiment)
    return {name: path for name, path in pages.items() if name not in STATUSES} | drawn


@pytest.mark.soak
@pytest.mark.parametrize(("speed", "width"), [("fast", 390), ("fast", 1440), ("slow", 390), ("slow", 1440)])
def test_pages_do_not_move_while_they_load(
    signed_in: Page, address: str, paths: dict[str, str], speed: str, width: int
) -> None:
    tabs = make_tabs(signed_in, width, speed)
    moved = {page.name: page.shifts for page in open_pages(tabs, address, paths) if page.shifts}
    assert moved == {}
    soak_plugin.count(len(paths), "pages")
