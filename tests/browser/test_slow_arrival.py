"""A page whose text arrives in pieces is drawn once all of it is here: an earlier part moves when the rest comes."""

from __future__ import annotations

from playwright.sync_api import Page

from runs.models import Experiment
from tests.browser.page_walk import READ, SPEEDS, Tab
from tests.runs.many_runs import crowd

BYTES_PER_SECOND = 4_000
"""A page of 5 kB takes a second. Styles and scripts are in the browser's cache by then."""
MIN_SHIFT = 0.0001
"""What counts as a move: the buttons of the page's bar move by 0.0004, words of a time that counts up by 0.00003."""


def test_nothing_moves_on_a_page_whose_text_arrives_slowly(
    signed_in: Page, address: str, experiment: Experiment
) -> None:
    path = crowd(experiment, 1)[0].get_absolute_url()
    tab = Tab(signed_in, 1440, "brisk")
    for throughput in (SPEEDS["brisk"]["downloadThroughput"], BYTES_PER_SECOND):
        tab.limit({**SPEEDS["brisk"], "downloadThroughput": throughput})
        tab.open(address + path)
        tab.page.wait_for_load_state("networkidle")
        assert [shift for shift in tab.page.evaluate(READ) if shift["value"] >= MIN_SHIFT] == []
