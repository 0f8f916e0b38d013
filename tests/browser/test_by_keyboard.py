"""Launch, watch, compare and share with the keys of a keyboard alone: no mouse, no click, no focus set by a script."""

import pytest
from playwright.sync_api import expect

from runs.models import Run
from tests.browser.chart_readout import look_at, wait_for_x
from tests.browser.page_idle import arrived
from tests.runs.attempt_records import make_attempt
from tests.runs.full_runs import evaluation, make_run, record

TABS_AT_MOST = 120
STOP = """wanted => {
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
"""Where the focus is, and whether something hides what has it."""


@pytest.fixture
def before(experiment, runs_dir):
    """A run that has ended, to compare with."""
    run = make_run(experiment, "grpo-micro", 3, "succeeded")
    record(run, [evaluation(step, -40.0 + step) for step in (0, 5, 10)])
    return run


def walk_to(page, role, name, key="Tab"):
    """Press Tab until the element has the focus. Nothing may hide a stop on the way there."""
    locator = page.get_by_role(role, name=name, exact=True).first
    wanted = locator.element_handle()
    for _ in range(TABS_AT_MOST):
        page.keyboard.press(key)
        stop = wanted.evaluate(STOP)
        if stop["isReplaced"]:
            # A refresh put another one in its place.
            wanted = locator.element_handle()
            stop = wanted.evaluate(STOP)
        assert not stop["covered"], stop["covered"]
        if stop["isWanted"]:
            return
    raise AssertionError(f"no {role} {name!r} within {TABS_AT_MOST} presses of {key}")


def press(page, role, name, key="Enter"):
    walk_to(page, role, name)
    page.keyboard.press(key)


def launch(page, experiment):
    """From anywhere to the page of a new run."""
    page.keyboard.press("g")
    expect(page.get_by_role("combobox", name="Go to")).to_be_focused()
    page.keyboard.type(experiment.name)
    expect(page.locator(".palette [aria-selected=true]")).to_contain_text(experiment.name)
    page.keyboard.press("Enter")
    press(page, "link", "Launch runs")
    arrived(page, "**/launch/**")
    choose_preset(page, "ES on the micro model", "es-micro")
    walk_to(page, "textbox", "Name")
    page.keyboard.type("by keyboard")
    press(page, "button", "Launch")
    page.get_by_role("heading", name="by keyboard", level=1).wait_for()
    return Run.objects.get(name="by keyboard")


def choose_preset(page, title, name):
    """With the arrow keys, as fast as somebody presses them: only the last choice fills the form."""
    presets = page.get_by_role("combobox", name="Start from")
    walk_to(page, "combobox", "Start from")
    titles = presets.locator("option").all_text_contents()
    away = titles.index(title) - titles.index(presets.locator("option:checked").text_content())
    for _ in range(abs(away)):
        page.keyboard.press("ArrowDown" if away > 0 else "ArrowUp")
    page.wait_for_url(f"**/?preset={name}")
    expect(presets.locator("option:checked")).to_have_text(title)
    expect(presets).to_be_focused()


def watch(page, run):
    """Points come in while the page is open."""
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
    arrived(page, f"**{experiment.get_absolute_url()}")
    for run in sorted(runs, key=lambda run: -run.pk):
        walk_to(page, "checkbox", f"Choose {run.name}")
        page.keyboard.press("Space")
    walk_to(page, "button", "Compare", "Shift+Tab")
    page.keyboard.press("Enter")
    arrived(page, "**/compare/**")
    page.get_by_text("2 of 2 chosen runs shown").wait_for()
    press(page, "button", "Next difference")
    expect(page.locator("diff-walk [data-at]")).to_contain_text("1 of ")
    expect(page.get_by_role("button", name="Next difference")).to_be_focused()


def test_launch_watch_compare_and_share_by_keyboard_alone(signed_in, address, experiment, before):
    page = signed_in
    page.goto(address)
    run = launch(page, experiment)
    watch(page, run)
    compare(page, experiment, (run, before))
    walk_to(page, "link", "Share", "Shift+Tab")
    page.keyboard.press("Enter")
    walk_to(page, "radio", "one week")
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("radio", name="one day")).to_be_checked()
    press(page, "button", "Make a link")
    press(page, "link", "Open it")
    expect(page.get_by_role("heading", name="Comparison of 2 runs", level=1)).to_be_visible()
    expect(page.get_by_text("Read only")).to_be_visible()


def test_the_toolbar_of_a_chart_is_one_stop_and_arrows_walk_in_it(signed_in, address, before):
    page = signed_in
    page.goto(f"{address}{before.get_absolute_url()}")
    look_at(page, "reward")
    toolbar = page.locator("#chart-reward [role=toolbar]")
    walk_to(page, "button", "Download plot as a PNG")
    page.keyboard.press("ArrowRight")
    expect(toolbar.get_by_role("button", name="Zoom", exact=True)).to_be_focused()
    page.keyboard.press("End")
    expect(toolbar.get_by_role("button", name="Reset axes")).to_be_focused()
    page.keyboard.press("Tab")
    expect(toolbar.locator(":focus")).to_have_count(0)
    page.keyboard.press("Shift+Tab")
    expect(toolbar.get_by_role("button", name="Reset axes")).to_be_focused()
    # None sends the chart to another site.
    expect(page.locator("#chart-reward .modebar-btn")).to_have_count(6)
    expect(page.get_by_role("button", name="Share chart")).to_have_count(0)
