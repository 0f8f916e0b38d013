"""Charts are pinned, resized, moved, added and removed on a page, and stay so."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from runs.models import ChartLayout, Experiment, SavedView
from tests.browser.axe import View, check_views
from tests.browser.chart_readout import scroll_to_chart
from tests.runs.full_runs import evaluation, make_run, record
from tests.waiting import wait_until

DEFAULT = ["Held-out reward", "KL from the base model", "Accuracy", "Reward against KL"]
REWARD, KL, ACCURACY, TRADEOFF = DEFAULT
HOSTILE = "<img src=x onerror=alert(1)>,~:%&='\""
PLOT_WIDTH = "() => document.querySelector('#chart-kl .plot')._fullLayout?.width"


@pytest.fixture
def open_charts(signed_in: Page, address: str, experiment: Experiment, runs_dir: Path) -> Callable[..., Page]:
    """Return a function that opens the page of an experiment with two runs."""
    for name in ("es-tiny", "grpo-tiny"):
        record(make_run(experiment, name), [evaluation(step, -40.0 + step) for step in (0, 5, 10)])

    def open_page(query: str = "") -> Page:
        signed_in.goto(f"{address}{experiment.get_absolute_url()}{query}")
        expect(headings(signed_in).first).to_be_visible()
        return signed_in

    return open_page


def headings(page: Page) -> Locator:
    """Return the headings of the charts, in the order of the page."""
    return page.locator("chart-layout .chart-head :is(h2, h3)")


def stored() -> list[str]:
    """Return the layout that is stored for Ada."""
    return ChartLayout.objects.filter(person__username="ada").values_list("cards", flat=True).first() or []


def wait_for_stored(*texts: str) -> None:
    wait_until(lambda: stored() == list(texts), f"the layout {texts}, not {stored()}")


def press(page: Page, name: str) -> None:
    """Press a button of a chart's tools by keyboard."""
    button = page.get_by_role("button", name=name, exact=True)
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_be_focused()


def test_chart_is_moved_and_pinned_by_keyboard_keeps_its_plot_and_stays_there(
    open_charts: Callable[..., Page], complaints: list[str]
) -> None:
    page = open_charts()
    check_moves(page)
    check_plot_of_moved_chart(page)
    wait_for_stored("kl:at1")
    page.get_by_role("button", name="Reset charts").click()
    check_pins(page)
    check_refusal(page)
    complaints.clear()


def check_moves(page: Page) -> None:
    """Check that a chart is moved by keyboard, stays there, and that the layout can be reset."""
    expect(headings(page)).to_have_text(DEFAULT)
    press(page, f"Move {ACCURACY} earlier")
    expect(headings(page)).to_have_text([REWARD, ACCURACY, KL, TRADEOFF])
    expect(page.locator("[data-announcement]")).to_have_text("Accuracy moved to position 2 of 4")
    press(page, f"Move {ACCURACY} earlier")
    wait_for_stored("right:at1")
    page.reload()
    expect(headings(page)).to_have_text([ACCURACY, REWARD, KL, TRADEOFF])
    page.get_by_role("button", name="Reset charts").click()
    expect(headings(page)).to_have_text(DEFAULT)
    assert stored() == []
    expect(page.get_by_role("button", name="Reset charts")).to_be_hidden()


def check_plot_of_moved_chart(page: Page) -> None:
    """Check that a moved chart keeps its plot."""
    scroll_to_chart(page, "kl")
    page.wait_for_function(PLOT_WIDTH)
    press(page, f"Move {KL} earlier")
    expect(headings(page).first).to_have_text(KL)
    page.wait_for_function("() => document.querySelector('#chart-kl live-chart').figure !== undefined")
    expect(page.locator("#chart-kl .plot .scatterlayer .trace").first).to_be_attached()
    expect(page.locator("#chart-kl .chart-readout")).to_have_count(1)


def check_pins(page: Page) -> None:
    """Check that pinned charts are first, in the order of the page."""
    expect(headings(page)).to_have_text(DEFAULT)
    press(page, f"Pin {TRADEOFF}")
    press(page, f"Pin {KL}")
    expect(headings(page)).to_have_text([TRADEOFF, KL, REWARD, ACCURACY])
    expect(page.locator("[data-announcement]")).to_have_text(f"{KL} pinned, position 2 of 4")
    wait_for_stored("tradeoff:pinned", "kl:pinned")
    page.reload()
    expect(headings(page)).to_have_text([TRADEOFF, KL, REWARD, ACCURACY])
    press(page, f"Pin {TRADEOFF}")
    expect(headings(page)).to_have_text([KL, REWARD, ACCURACY, TRADEOFF])
    wait_for_stored("kl:pinned")


def check_refusal(page: Page) -> None:
    """Check that a layout that the server does not save is reported."""
    page.route("**/charts/layout/", lambda route: route.abort())
    press(page, f"Pin {REWARD}")
    expect(page.locator(".layout-problem")).to_contain_text("The layout is not saved. The server does not respond.")


def test_chart_is_dragged_by_its_heading_and_a_wide_one_fills_the_row(open_charts: Callable[..., Page]) -> None:
    page = open_charts()
    page.set_viewport_size({"width": 1440, "height": 1400})
    check_drag(page)
    page.get_by_role("button", name="Reset charts").click()
    expect(headings(page)).to_have_text(DEFAULT)
    check_width(page)


def check_drag(page: Page) -> None:
    """Check that a chart is dragged by its heading, and back to its place by Escape."""
    page.locator("chart-layout .charts").scroll_into_view_if_needed()
    start = page.get_by_role("heading", name=REWARD).bounding_box()
    end = page.locator("#chart-tradeoff").bounding_box()
    assert start
    assert end
    page.mouse.move(start["x"] + 10, start["y"] + 8)
    page.mouse.down()
    page.mouse.move(end["x"] + 0.8 * end["width"], end["y"] + 60, steps=4)
    expect(page.locator("#chart-tradeoff")).to_have_class(re.compile("drop-after"))
    page.keyboard.press("Escape")
    page.mouse.up()
    expect(headings(page)).to_have_text(DEFAULT)
    page.mouse.move(start["x"] + 10, start["y"] + 8)
    page.mouse.down()
    page.mouse.move(end["x"] + 0.8 * end["width"], end["y"] + 60, steps=4)
    page.mouse.up()
    expect(headings(page)).to_have_text([KL, ACCURACY, TRADEOFF, REWARD])
    wait_for_stored("reward:at4")


def check_width(page: Page) -> None:
    """Check that a wide chart fills the row and its plot fills the chart."""
    scroll_to_chart(page, "kl")
    page.wait_for_function(f"{PLOT_WIDTH} < 700")
    press(page, f"Change the size of {KL}")
    expect(page.locator("[data-announcement]")).to_have_text(f"{KL} is wide")
    page.wait_for_function(f"{PLOT_WIDTH} > 1000")
    wait_for_stored("kl:wide")
    page.reload()
    scroll_to_chart(page, "kl")
    page.wait_for_function(f"{PLOT_WIDTH} > 1000")


def test_own_chart_is_added_and_removed_and_a_saved_view_keeps_a_change_that_was_just_made(
    open_charts: Callable[..., Page],
) -> None:
    page = open_charts()
    check_own_chart(page)
    check_saved_view(page)


def check_own_chart(page: Page) -> None:
    """Check that a chart of one's own is added and removed."""
    page.get_by_text("Add a chart", exact=True).click()
    page.get_by_label("Key 1").fill("kl")
    page.get_by_label("Key 2, optional").fill("accuracy/right")
    page.get_by_label("Title", exact=True).fill(HOSTILE)
    page.get_by_role("button", name="Add", exact=True).click()
    page.wait_for_url("**#chart-own*")
    expect(headings(page)).to_have_text([*DEFAULT, HOSTILE])
    page.get_by_role("button", name=f"Remove {HOSTILE}").click()
    expect(headings(page)).to_have_text(DEFAULT)
    wait_until(lambda: stored() == [], "an empty layout")
    page.reload()
    expect(headings(page)).to_have_text(DEFAULT)


def check_saved_view(page: Page) -> None:
    """Check that a saved view keeps a change of the layout that is not stored yet."""
    page.get_by_text("Save this view").click()
    page.get_by_label("Name", exact=True).fill("mine")
    page.get_by_role("button", name=f"Pin {KL}").dispatch_event("click")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**charts=kl:pinned**")
    assert SavedView.objects.get().query.endswith("charts=kl:pinned")


def test_layout_of_the_address_changes_in_the_address_alone(
    open_charts: Callable[..., Page], ada: User, experiment: Experiment
) -> None:
    ChartLayout.objects.create(person=ada, page="experiment", experiment=experiment, cards=["right:at1"])
    page = open_charts("?charts=kl:pinned")
    expect(headings(page)).to_have_text([KL, REWARD, ACCURACY, TRADEOFF])
    press(page, f"Move {ACCURACY} earlier")
    expect(page).to_have_url(re.compile(r"\?charts=kl:pinned&charts=right:at1$"))
    expect(headings(page)).to_have_text([KL, ACCURACY, REWARD, TRADEOFF])
    page.get_by_role("link", name="tokens").click()
    page.wait_for_url("**x=tokens**")
    expect(headings(page)).to_have_text([KL, ACCURACY, REWARD, TRADEOFF])
    assert stored() == ["right:at1"]
    page.get_by_role("link", name="Show my charts").click()
    expect(headings(page)).to_have_text([ACCURACY, REWARD, KL, TRADEOFF])


def test_change_survives_a_part_that_was_rendered_before_it(
    open_charts: Callable[..., Page], address: str, experiment: Experiment, complaints: list[str]
) -> None:
    page = open_charts()
    page.goto(f"{address}{reverse('run-curves', args=[experiment.runs.earliest('pk').uid])}")
    held_out = page.locator("#section-held-out").locator(".chart-head h4")
    expect(held_out).to_have_text(["Reward", "Accuracy", "KL from the base model"])
    # The server gets the new layout only after it has rendered the charts again.
    page.route("**/charts/layout/", lambda route: route.abort())
    press(page, "Move Accuracy earlier")
    with page.expect_response("**/curves/**"):
        page.evaluate("() => void document.body.dispatchEvent(new CustomEvent('run-changed:keys'))")
    expect(page.locator(".htmx-request, .htmx-added, .htmx-settling")).to_have_count(0)
    expect(held_out).to_have_text(["Accuracy", "Reward", "KL from the base model"])
    page.unroute("**/charts/layout/")
    press(page, "Change the size of Accuracy")
    complaints.clear()
    wait_until(lambda: run_layout() == ["accuracy:medium:at1"], "the layout of the run's page")


def run_layout() -> list[str]:
    """Return the layout that is stored for Ada's pages of runs."""
    return ChartLayout.objects.filter(page="run").values_list("cards", flat=True).first() or []


def test_charts_with_tools_pass_axe_and_fit_a_phone(open_charts: Callable[..., Page], views: tuple[View, ...]) -> None:
    page = open_charts("?charts=kl:wide:pinned&charts=kl:huge&charts=own:kl,reward/mean")
    page.get_by_text("Add a chart", exact=True).click()
    assert check_views(page, views) == "{}"
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.get_by_role("button", name=f"Change the size of {KL}")).to_be_hidden()
    expect(page.get_by_role("button", name=f"Move {REWARD} later")).to_be_visible()
