"""Launch, watch, compare and share with the keys of a keyboard alone: no mouse, no click, no focus set by a script."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from runs.models import Run
from tests.browser.chart_readout import scroll_to_chart, wait_for_x
from tests.browser.page_idle import wait_for_page
from tests.runs.attempt_records import make_attempt
from tests.runs.full_runs import evaluation, make_run, record

MAX_KEY_PRESSES = 120
INSPECT_FOCUS = """wanted => {
    const focused = document.activeElement, box = focused.getBoundingClientRect();
    const [x, y] = [box.x + Math.min(box.width / 2, 20), box.y + Math.min(box.height / 2, 10)];
    const above = document.elementFromPoint(x, y);
    const isSeen = focused.contains(above) || above?.contains(focused) || above?.closest("label")?.control === focused;
    const isCovered = focused !== document.body && !isSeen;
    return {
        covered: isCovered && focused.outerHTML.slice(0, 200),
        isWanted: focused === wanted,
        isReplaced: !wanted.isConnected,
    };
}"""
"""A script that returns where the focus is, and whether something covers the focused element."""


@pytest.fixture
def earlier_run(experiment, runs_dir):
    """Return a finished run, to compare with."""
    run = make_run(experiment, "grpo-micro", 3, "succeeded")
    record(run, [evaluation(step, -40.0 + step) for step in (0, 5, 10)])
    return run


def walk_to(page, role, name, key="Tab"):
    """Press Tab until the element has the focus. Nothing may hide a stop on the way there."""
    locator = page.get_by_role(role, name=name, exact=True).first
    target = locator.element_handle()
    for _ in range(MAX_KEY_PRESSES):
        page.keyboard.press(key)
        stop = target.evaluate(INSPECT_FOCUS)
        if stop["isReplaced"]:
            # A refresh put another one in its place.
            target = locator.element_handle()
            stop = target.evaluate(INSPECT_FOCUS)
        assert not stop["covered"], stop["covered"]
        if stop["isWanted"]:
            return
    raise AssertionError(f"no {role} {name!r} within {MAX_KEY_PRESSES} presses of {key}")


def press(page, role, name, key="Enter"):
    walk_to(page, role, name)
    page.keyboard.press(key)


def launch(page, experiment):
    """Launch a run, starting at any page, and return it. The page of the new run is then open."""
    page.keyboard.press("g")
    expect(page.get_by_role("combobox", name="Go to")).to_be_focused()
    page.keyboard.type(experiment.name)
    expect(page.locator(".palette [aria-selected=true]")).to_contain_text(experiment.name)
    page.keyboard.press("Enter")
    press(page, "link", "Launch runs")
    wait_for_page(page, "**/launch/**")
    choose_preset(page, "ES on the micro model", "es-micro")
    walk_to(page, "textbox", "Name")
    page.keyboard.type("by keyboard")
    press(page, "button", "Launch")
    page.get_by_role("heading", name="by keyboard", level=1).wait_for()
    return Run.objects.get(name="by keyboard")


def choose_preset(page, title, name):
    """Choose a preset with the arrow keys, as fast as a user presses them: only the last choice fills the form."""
    presets = page.get_by_role("combobox", name="Start from")
    walk_to(page, "combobox", "Start from")
    titles = presets.locator("option").all_text_contents()
    distance = titles.index(title) - titles.index(presets.locator("option:checked").text_content())
    for _ in range(abs(distance)):
        page.keyboard.press("ArrowDown" if distance > 0 else "ArrowUp")
    page.wait_for_url(f"**/?preset={name}")
    expect(presets.locator("option:checked")).to_have_text(title)
    expect(presets).to_be_focused()


def watch(page, run):
    """Check that new points arrive while the page is open."""
    page.wait_for_selector("live-run[data-state=live]")
    if run.newest_attempt() is None:
        make_attempt(run)
    Run.objects.filter(pk=run.pk).update(state="running")
    record(run, [evaluation(0, -50.0), evaluation(5, -45.0)])
    press(page, "link", "−45")
    wait_for_x(page, "reward", "reward/mean", [0, 5])
    record(run, [evaluation(10, -20.0)])
    wait_for_x(page, "reward", "reward/mean", [0, 5, 10])


def compare(page, experiment, runs):
    walk_to(page, "link", experiment.name, "Shift+Tab")
    page.keyboard.press("Enter")
    wait_for_page(page, f"**{experiment.get_absolute_url()}")
    for run in sorted(runs, key=lambda run: -run.pk):
        walk_to(page, "checkbox", f"Select {run.name}")
        page.keyboard.press("Space")
    walk_to(page, "button", "Compare", "Shift+Tab")
    page.keyboard.press("Enter")
    wait_for_page(page, "**/compare/**")
    page.get_by_text("2 of 2 selected runs shown").wait_for()
    press(page, "button", "Next difference")
    expect(page.locator("diff-navigator [data-at]")).to_contain_text("1 of ")
    expect(page.get_by_role("button", name="Next difference")).to_be_focused()


def test_run_is_launched_compared_and_shared_by_keyboard(signed_in, address, experiment, earlier_run):
    page = signed_in
    page.goto(address)
    run = launch(page, experiment)
    watch(page, run)
    compare(page, experiment, (run, earlier_run))
    walk_to(page, "link", "Share", "Shift+Tab")
    page.keyboard.press("Enter")
    walk_to(page, "radio", "one week")
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("radio", name="one day")).to_be_checked()
    press(page, "button", "Create link")
    press(page, "link", "Open link")
    expect(page.get_by_role("heading", name="Comparison of 2 runs", level=1)).to_be_visible()
    expect(page.get_by_text("Read only")).to_be_visible()


def test_chart_toolbar_is_one_tab_stop_with_arrow_keys(signed_in, address, earlier_run):
    page = signed_in
    page.goto(f"{address}{reverse('run-curves', args=[earlier_run.uid])}")
    scroll_to_chart(page, "reward")
    toolbar = page.locator("#chart-reward [role=toolbar]")
    walk_to(page, "button", "Zoom")
    page.keyboard.press("ArrowRight")
    expect(toolbar.get_by_role("button", name="Pan", exact=True)).to_be_focused()
    page.keyboard.press("End")
    expect(toolbar.get_by_role("button", name="Reset axes")).to_be_focused()
    page.keyboard.press("Tab")
    expect(toolbar.locator(":focus")).to_have_count(0)
    page.keyboard.press("Shift+Tab")
    expect(toolbar.get_by_role("button", name="Reset axes")).to_be_focused()
    # None sends the chart to another site.
    expect(page.locator("#chart-reward .modebar-btn")).to_have_count(5)
    expect(page.get_by_role("button", name="Share chart")).to_have_count(0)
