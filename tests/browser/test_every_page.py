"""Every page, opened once: it stays where it is while it loads, fits its window narrow and wide, passes axe, and the
console stays quiet.

`make soak PART=browser` does it without runs, with one and with a thousand, and in dark colours too; `make soak
PART=pages` with ten thousand.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page

from runs.models import Experiment
from tests import soak_plugin
from tests.browser.axe import find_axe_faults, prefer_theme
from tests.browser.filled_site import crowd_size, fill
from tests.browser.page_idle import find_overflow
from tests.browser.page_list import FOR_ADMINISTRATORS, STATUSES, all_pages, drawn_pages
from tests.browser.page_walk import Loaded, Tab, make_tabs, open_pages
from tests.conftest import person
from tests.runs.many_runs import LONG_NAME, TAGS

WIDE, NARROW, HEIGHT = 1440, 390, 900
ALIKE = {
    "home, mine, a week", "experiments, archived", "experiment, nothing fits", "launch, clone", "launch, evaluate",
    "launch, probe", "launch, audit", "run, waiting, log", "run, waiting, config", "compare, grouped", "curves, drawn",
    "judge, edited", "tournament of a run, new",
}  # fmt: skip
"""Pages whose elements another page of the same template has. Outside of a soak axe checks only that one."""


@pytest.fixture
def crowded_experiment(ada: User) -> Experiment:
    """Return the experiment of all runs, with a name of the maximal length."""
    return Experiment.objects.create(name=LONG_NAME[:200], question="Why? " * 60, tags=TAGS, owner=ada)


@pytest.mark.parametrize("count", [crowd_size(4), *(pytest.param(n, marks=pytest.mark.soak) for n in (0, 1, 1000))])
def test_every_page_is_still_fits_and_is_accessible(
    signed_in: Page, address: str, ada: User, crowded_experiment: Experiment, complaints: list[str], count: int
) -> None:
    fill(crowded_experiment, count)
    drawn = drawn_pages(crowded_experiment) if count > 1 else {}
    paths = {**all_pages(ada, person("bo"), crowded_experiment), **drawn}
    tabs = make_tabs(signed_in, NARROW, "brisk")
    problems: dict[str, list[str]] = {}
    for name, page_problems in check_pages(tabs, address, ada, paths):
        problems[name] = page_problems
    assert {name: listed for name, listed in problems.items() if listed} == {}
    assert set(problems) == {*paths, "sign-in"}
    # The problems name the messages of every page.
    complaints.clear()
    soak_plugin.count(len(problems), "pages")


def check_pages(tabs: list[Tab], site: str, ada: User, paths: dict[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the problems of each page: first of those that members see, at last the sign-in page."""
    for is_administrator in (False, True):
        User.objects.filter(pk=ada.pk).update(is_superuser=is_administrator)
        group = {name: path for name, path in paths.items() if (name in FOR_ADMINISTRATORS) == is_administrator}
        for page in open_pages(tabs, site, group):
            yield page.name, find_problems(page)
    tabs[0].page.context.clear_cookies(name="sessionid")
    for page in open_pages(tabs, site, {"sign-in": "/"}):
        yield page.name, find_problems(page)
        assert page.tab.page.title() == "Sign in · esweb"


def find_problems(loaded: Loaded) -> list[str]:
    """Return what is wrong with an open page, which is left at the other width."""
    page, status = loaded.tab.page, STATUSES.get(loaded.name, 200)
    problems = [*loaded.shifts] if loaded.status == status else [f"status {loaded.status}"]
    opened_width = page.viewport_size["width"]
    for width in (opened_width, NARROW if opened_width == WIDE else WIDE):
        page.set_viewport_size({"width": width, "height": HEIGHT})
        if overflow := find_overflow(page, width):
            problems.append(f"{width} px: {overflow}")
    if soak_plugin.SECONDS or loaded.name not in ALIKE:
        # A variant of a page, such as "run, log", has the colours of the page.
        rules = "all" if soak_plugin.SECONDS or ", " not in loaded.name else "all but colours"
        problems += [f"axe: {fault}" for fault in find_axe_faults(page, rules)]
    if soak_plugin.SECONDS:
        prefer_theme(page, "dark")
        problems += [f"axe in dark colours: {fault}" for fault in find_axe_faults(page, "colours")]
        prefer_theme(page, "light")
    return problems + [message for message in loaded.tab.messages if f"status of {loaded.status}" not in message]
