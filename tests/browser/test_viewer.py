"""Responses side by side: unblurred, browsed by keys, selected by a lasso in the chart, sorted by differences, on a
phone."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from runs.models import Experiment, Run
from tests.browser.axe import find_axe_faults
from tests.browser.page_idle import find_overflow
from tests.judging.viewer_integration.judged_responses import judge_named, make_meeting
from tests.runs.viewer_responses import address as viewer_address
from tests.runs.viewer_responses import make_response, model


@pytest.fixture
def pair(experiment: Experiment, runs_dir: Path) -> tuple[Run, Run]:
    base = model(
        experiment, "base", [make_response(n, f"Take the knife {n}", n / 10 - 1, 3.0 - n / 3) for n in range(24)]
    )
    tuned = model(experiment, "tuned", [make_response(n, f"Take a rest {n}", -1.0, 3.0) for n in range(24)], seed=1)
    return base, tuned


def draw_lasso(page: Page) -> None:
    """Draw a lasso around the lower right of the chart with the mouse."""
    box = page.locator("lasso-chart .plot .draglayer .drag").first.bounding_box()
    assert box is not None
    left, top = box["x"] + box["width"] * 0.55, box["y"] + box["height"] * 0.5
    right, bottom = box["x"] + box["width"] - 4, box["y"] + box["height"] - 4
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in ((right, top), (right, bottom), (left, bottom), (left, top)):
        page.mouse.move(x, y, steps=5)
    page.mouse.up()


def test_responses_are_unblurred_browsed_and_lassoed(signed_in: Page, address: str, pair: tuple[Run, Run]) -> None:
    page = signed_in
    page.goto(address + viewer_address(*pair))
    expect(page.locator(".answer-text").first).not_to_have_css("filter", "none")
    page.get_by_role("button", name="Show responses", exact=True).click()
    expect(page.get_by_role("button", name="Blur responses")).to_be_visible()
    page.wait_for_load_state()
    expect(page.locator(".answer-text").first).to_have_css("filter", "none")

    page.keyboard.press("j")
    page.keyboard.press("j")
    rows = page.locator("[data-row]")
    expect(rows.nth(1)).to_be_focused()
    page.keyboard.press("2")
    page.wait_for_url(f"**pin={pair[1].uid}%40500**")
    page.get_by_role("link", name="Show differences").click()
    expect(page.locator(".answer-text del").first).to_have_text("a rest ")
    page.wait_for_load_state()

    page.get_by_text("Reward against cost: draw around").click()
    expect(page.locator("lasso-chart .scatterlayer .points path")).to_have_count(48)
    draw_lasso(page)
    page.wait_for_url("**lasso=**")
    selected_count = int(page.get_by_role("status").first.inner_text().split(" of ")[0])
    assert 0 < selected_count < 24
    assert "pin=" in page.url

    assert find_axe_faults(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert find_overflow(page, 390) == ""
    page.locator("td a", has_text="Link").first.click()
    expect(page.get_by_role("heading", name="Response at step 500")).to_be_visible()
    assert find_axe_faults(page) == []


def test_rows_filter_by_judge_disagreement_and_show_verdicts(
    signed_in: Page, address: str, experiment: Experiment, ada: User, runs_dir: Path
) -> None:
    meeting = make_meeting(ada, experiment)
    for name, won in (("Uno", "tuned"), ("Due", "base")):
        meeting.judge(judge_named(name), 3, won, won)
    page = signed_in
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{address}{viewer_address(meeting.base, meeting.tuned)}")
    page.get_by_role("button", name="Show responses", exact=True).click()
    expect(page.get_by_role("button", name="Blur responses")).to_be_visible()
    page.get_by_text("More filters").click()
    page.locator("#asked-disagree").select_option("yes")
    page.get_by_role("button", name="Show", exact=True).click()
    page.wait_for_url("**disagree=yes**")
    expect(page.locator("[data-row]")).to_have_count(1)
    chip = page.get_by_text("helpfulness: tied, 1 to 1")
    chip.click()
    expect(page.get_by_text("Uno: won")).to_be_visible()
    assert find_axe_faults(page) == []
    assert find_overflow(page, 390) == ""


def test_largest_differences_and_correctness_are_shown(
    signed_in: Page, address: str, experiment: Experiment, runs_dir: Path
) -> None:
    right, wrong = {"right": 1.0, "exact": 1.0, "contains": 1.0}, {"right": 0.0, "exact": 0.0, "contains": 0.0}
    target = "Paris " * 80
    base = model(
        experiment, "base", [make_response(n, "Paris", 0.0, None, target=target, parts=right) for n in range(3)]
    )
    tuned = model(
        experiment, "tuned", [make_response(n, "Rome", n / 2, None, target=target, parts=wrong) for n in range(3)], 1
    )
    page = signed_in
    page.goto(address + viewer_address(base, tuned))
    link = page.get_by_role("link", name="Largest differences from column A")
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**sort=-difference**")
    expect(link).to_have_attribute("aria-current", "true")
    first = page.locator("[data-row]").first
    expect(first).to_contain_text("Request 2?")
    expect(first.locator("td").nth(0)).to_contain_text("right")
    expect(first.locator("td").nth(1)).to_contain_text("wrong")
    first.locator("summary", has_text="Expected answer").click()
    expect(first.get_by_role("group", name="Expected answer")).to_be_visible()
    assert find_axe_faults(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert find_overflow(page, 390) == ""
    link.click()
    page.wait_for_url(lambda url: "sort=" not in url)
    expect(page.locator("[data-row]").first).to_contain_text("row 0")
