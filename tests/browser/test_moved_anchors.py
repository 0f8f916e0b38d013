"""Anchors of the time when the page of a run had no tabs."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from runs.models import Experiment, Run
from tests.runs.full_runs import a_bit_of_everything, make_run, record


@pytest.fixture
def run(experiment: Experiment, runs_dir: Path) -> Run:
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    return run


@pytest.fixture
def overview(signed_in: Page, address: str, run: Run) -> str:
    """Return the address of the run's page after a visit to the list of experiments."""
    signed_in.goto(f"{address}/experiments/")
    return f"{address}{reverse('run', args=[run.uid])}"


@pytest.mark.parametrize(("anchor", "tab"), [
    ("config", "config/"), ("log", "log/"), ("checkpoints", "checkpoints/"), ("responses", "responses/"),
    ("weights", "weights/"), ("population", "weights/"), ("past", "log/"), ("chart-time-step_seconds", "curves/"),
])  # fmt: skip
def test_old_anchor_opens_its_tab_without_an_entry_in_history(
    signed_in: Page, overview: str, anchor: str, tab: str
) -> None:
    signed_in.goto(f"{overview}?smooth=0.5#{anchor}")
    expect(signed_in).to_have_url(f"{overview}{tab}?smooth=0.5#{anchor}")
    current_tab = signed_in.locator(".tabs [aria-current]")
    expect(current_tab).to_have_attribute("href", f"{urlsplit(overview).path}{tab}")
    signed_in.go_back()
    expect(signed_in.get_by_role("heading", name="Experiments", level=1)).to_be_visible()


@pytest.mark.parametrize("anchor", ["chart-reward", "evaluations", "nosuch"])
def test_anchor_of_the_overview_or_of_no_tab_stays(signed_in: Page, overview: str, anchor: str) -> None:
    signed_in.goto(f"{overview}#{anchor}")
    signed_in.wait_for_function("Boolean(customElements.get('moved-anchors'))")
    expect(signed_in).to_have_url(f"{overview}#{anchor}")


def test_link_to_an_old_anchor_opens_its_tab_and_back_returns_to_the_overview(signed_in: Page, overview: str) -> None:
    signed_in.goto(overview)
    signed_in.wait_for_function("Boolean(customElements.get('moved-anchors'))")
    signed_in.evaluate("location.hash = 'config'")
    expect(signed_in).to_have_url(f"{overview}config/#config")
    signed_in.go_back()
    expect(signed_in).to_have_url(overview)
