"""Reward and gold in a browser: sentence and charts follow a new evaluation, and every view is accessible."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from runs.models import Experiment, Run
from tests.browser.axe import View, check_views
from tests.runs.evaluation_records import make_planned_run, write
from tests.runs.run_page.test_reward_and_gold import HIGH, PROMPTS, SAMPLES, cheat, evaluation, set_right


@pytest.fixture
def run(experiment: Experiment, runs_dir: object) -> Run:
    """Return a run whose reward rose while its answers became wrong."""
    return cheat(make_planned_run(experiment, PROMPTS, SAMPLES))


def test_section_follows_a_new_evaluation(signed_in: Page, address: str, run: Run, views: tuple[View, ...]) -> None:
    page = signed_in
    page.goto(f"{address}{run.get_absolute_url()}")
    section = page.locator("#reward-and-gold")
    expect(section.locator(".badge").first).to_contain_text("reward up, gold down")
    section.scroll_into_view_if_needed()
    expect(section.locator("#chart-evaluated-gold .plot .scatterlayer")).to_be_visible()
    assert check_views(page, views, scope="#reward-and-gold") == "{}"
    write(run, evaluation(40, HIGH))
    set_right(run, 40, [True] * PROMPTS)
    page.evaluate("document.body.dispatchEvent(new CustomEvent('run-changed:evaluation'))")
    expect(section.locator(".verdict-line")).to_contain_text("from step 0 to step 40")
    expect(section.locator("#chart-evaluated-gold .summary")).to_contain_text("Greedy at step 40: 100")


def test_charts_appear_with_the_first_evaluation(
    signed_in: Page, address: str, experiment: Experiment, runs_dir: object
) -> None:
    page, run = signed_in, make_planned_run(experiment, PROMPTS, SAMPLES)
    page.goto(f"{address}{run.get_absolute_url()}")
    section = page.locator("#reward-and-gold")
    expect(section).to_contain_text("They appear here with the first evaluation.")
    cheat(run)
    page.evaluate("document.body.dispatchEvent(new CustomEvent('run-changed:evaluation'))")
    section.scroll_into_view_if_needed()
    expect(section.locator("#chart-evaluated-gold .plot .scatterlayer")).to_be_visible()
    expect(section.locator("#reward-and-gold-table")).to_contain_text("all responses")
