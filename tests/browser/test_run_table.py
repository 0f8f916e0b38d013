"""The runs table in a browser: the run with the largest difference from a pinned run, within three clicks."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from runs.models import Experiment, Run
from tests.runs.compare.test_conditions import summary
from tests.runs.full_runs import make_run


@pytest.fixture
def runs(experiment: Experiment) -> list[Run]:
    """Runs with rewards of −10, −12, −40 and −9, by seed."""
    created = [make_run(experiment, seed=seed, state="succeeded") for seed in range(4)]
    for run, reward in zip(created, (-10.0, -12.0, -40.0, -9.0), strict=True):
        summary(run, "reward/mean", reward)
        summary(run, "kl", 0.5 + run.seed)
    return created


def test_two_clicks_lead_to_the_run_with_the_largest_gap_on_narrow_pages_too(
    signed_in: Page, address: str, experiment: Experiment, runs: list[Run]
) -> None:
    page = signed_in
    page.goto(f"{address}{experiment.get_absolute_url()}")
    page.get_by_role("button", name=f"Pin {runs[0].name}").click()
    first, second = page.locator(".runs-table tbody tr").nth(0), page.locator(".runs-table tbody tr").nth(1)
    expect(first).to_contain_text(runs[0].name)
    page.get_by_role("link", name="Sort by the difference of Reward from the pinned run").click()
    expect(first).to_contain_text(runs[0].name)
    expect(second).to_contain_text(runs[2].name)
    expect(second).to_contain_text("▽ −30")

    pinned = page.get_by_role("button", name=f"Pin {runs[0].name}")
    expect(pinned).to_have_attribute("aria-pressed", "true")
    pinned.focus()
    page.keyboard.press("Space")
    expect(page.get_by_text("Pinned:")).to_have_count(0)
    assert "gap" not in page.url

    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{address}{experiment.get_absolute_url()}?pin={runs[0].uid}")
    page.locator(".gap-sorts").get_by_role("link", name="Reward").click()
    expect(page.locator(".runs-table tbody tr").nth(1)).to_contain_text(runs[2].name)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
