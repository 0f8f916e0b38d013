"""Long responses side by side scroll together or are shown whole, by keys too, and the browser remembers the choice."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from runs.models import Experiment
from tests.browser.axe import find_axe_faults
from tests.runs.viewer_responses import address as viewer_address
from tests.runs.viewer_responses import make_response, model


def test_scroll_and_height_of_long_responses_are_remembered(
    signed_in: Page, address: str, experiment: Experiment, runs_dir: Path
) -> None:
    runs = [
        model(experiment, name, [make_response(0, "\n".join(f"Line {n}" for n in range(lines)), 0.0, None)], seed=lines)
        for name, lines in (("base", 60), ("tuned", 120))
    ]
    page = signed_in
    page.goto(address + viewer_address(*runs))
    answers = page.locator(".answer-text")
    page.keyboard.press("s")
    expect(page.get_by_role("button", name="Scroll columns together")).to_have_attribute("aria-pressed", "true")
    answers.nth(0).focus()
    page.keyboard.press("End")
    at_the_end = "e => Math.abs(e.scrollHeight - e.clientHeight - e.scrollTop) <= 1 && e.scrollTop > 0"
    for answer in (answers.nth(0), answers.nth(1)):
        expect(answer).to_be_visible()
        page.wait_for_function(at_the_end, arg=answer.element_handle())
    page.keyboard.press("x")
    # The page arrives in this layout, so it does not move when its script starts.
    html = page.request.get(page.url).text()
    assert re.search(r"<response-keys[^>]* data-whole data-together", html)
    page.reload()
    for name in ("Show long responses in full", "Scroll columns together"):
        expect(page.get_by_role("button", name=name)).to_have_attribute("aria-pressed", "true")
    for answer in answers.all():
        assert answer.evaluate("e => e.scrollHeight <= e.clientHeight + 1")
    assert find_axe_faults(page) == []
    page.get_by_role("button", name="Show long responses in full").click()
    page.reload()
    expect(page.get_by_role("button", name="Show long responses in full")).to_have_attribute("aria-pressed", "false")
    assert "data-whole" not in page.request.get(page.url).text().partition("<response-layout")[0]
