"""Anchors of the time when the page of a run had no tabs."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.urls import reverse
from playwright.sync_api import Page, Route, expect

from runs.models import Experiment, Run
from tests.runs.full_runs import a_bit_of_everything, make_run, record


@pytest.fixture
def run(experiment: Experiment, runs_dir: Path) -> Run:
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    return run


@pytest.fixture
def overview(address: str, run: Run) -> str:
    """Return the address of the run's page."""
    return f"{address}{reverse('run', args=[run.uid])}"


MOVED = {
    "config": "config/", "log": "log/", "checkpoints": "checkpoints/", "responses": "responses/",
    "weights": "weights/", "population": "weights/", "past": "log/", "chart-time-step_seconds": "curves/",
}  # fmt: skip


def test_old_anchor_opens_its_tab_without_an_entry_in_history(signed_in: Page, address: str, overview: str) -> None:
    signed_in.goto(f"{address}/experiments/")
    signed_in.goto(f"{overview}?smooth=0.5#config")
    expect(signed_in).to_have_url(f"{overview}config/?smooth=0.5#config")
    current_tab = signed_in.locator(".tabs [aria-current]")
    expect(current_tab).to_have_attribute("href", f"{urlsplit(overview).path}config/")
    signed_in.go_back()
    expect(signed_in.get_by_role("heading", name="Experiments", level=1)).to_be_visible()


def test_each_old_anchor_opens_its_tab(signed_in: Page, overview: str) -> None:
    signed_in.goto(f"{overview}?smooth=0.5")
    signed_in.wait_for_function("Boolean(customElements.get('moved-anchors'))")
    # A tab without content: the page stays, so that the next anchor needs no other.
    signed_in.route(re.compile(r"/(config|log|checkpoints|responses|weights|curves)/\?smooth"), no_content)
    for anchor, tab in MOVED.items():
        with signed_in.expect_request(lambda request: request.is_navigation_request()) as navigation:
            signed_in.evaluate("anchor => { location.hash = anchor }", anchor)
        assert navigation.value.url.partition("#")[0] == f"{overview}{tab}?smooth=0.5", anchor


def no_content(route: Route) -> None:
    if route.request.is_navigation_request():
        route.fulfill(status=204)
    else:
        route.fallback()


def test_other_anchors_stay_and_back_returns_to_the_overview(signed_in: Page, overview: str) -> None:
    signed_in.goto(f"{overview}#nosuch")
    signed_in.wait_for_function("Boolean(customElements.get('moved-anchors'))")
    expect(signed_in).to_have_url(f"{overview}#nosuch")
    for anchor in ("evaluations", "chart-reward"):
        signed_in.evaluate("anchor => { location.hash = anchor }", anchor)
        # The event of the hash comes before this promise.
        signed_in.evaluate("() => new Promise((resolve) => setTimeout(resolve))")
        expect(signed_in).to_have_url(f"{overview}#{anchor}")
    # A link to an old anchor opens its tab, and back returns.
    signed_in.evaluate("location.hash = 'config'")
    expect(signed_in).to_have_url(f"{overview}config/#config")
    signed_in.go_back()
    expect(signed_in).to_have_url(f"{overview}#chart-reward")
