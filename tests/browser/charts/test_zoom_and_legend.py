"""Charts of a page share their zoom, hidden lines and smoothing, also after refreshes and in saved views."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.chart_readout import drawn_x, scroll_to_chart, wait_for_range
from tests.browser.charts.lines import group_button, refresh, wait_for_lines
from tests.runs.full_runs import evaluation, record

LAST_X = "(chart) => Math.max(...document.querySelector(`#chart-${chart} .plot`).data.map((trace) => trace.x.at(-1)))"
Y_VALUES = "(chart) => document.querySelector(`#chart-${chart} .plot`).data.find((trace) => trace.meta?.label).y.join()"
ZOOM = "([chart, range]) => Plotly.relayout(document.querySelector(`#chart-${chart} .plot`), {'xaxis.range': range})"


def test_zoom_is_shared_reset_and_survives_refresh_reload_and_links(open_page):
    page = open_page
    check_dragging(page)
    check_double_click(page)
    page.evaluate(ZOOM, ["reward", [4, 12]])
    wait_for_range(page, "kl", [4, 12])
    expect(page).to_have_url(re.compile("from=4&to=12"))
    refresh(page, "kl")
    wait_for_range(page, "kl", [4, 12])
    page.reload()
    for chart in ("kl", "reward"):
        scroll_to_chart(page, chart)
        wait_for_range(page, chart, [4, 12])
    page.locator(".more-controls > summary").click()
    page.get_by_role("link", name="log", exact=True).last.click()
    expect(page).to_have_url(re.compile(r"y=log.*from=4&to=12|from=4&to=12.*y=log"))
    # A zoom belongs to its axis.
    page.get_by_role("link", name="samples", exact=True).click()
    page.wait_for_url("**x=samples**")
    expect(page).not_to_have_url(re.compile("from="))


def check_dragging(page):
    """Check that dragging zooms all charts."""
    box = page.locator("#chart-reward .nsewdrag").bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.25 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.75 * box["width"], y, steps=5)
    page.mouse.up()
    expect(page).to_have_url(re.compile("from="))
    low, high = page.evaluate("document.querySelector('#chart-reward .plot')._fullLayout.xaxis.range")
    page.wait_for_function(
        "([low, high]) => { const [a, b] = document.querySelector('#chart-kl .plot')._fullLayout.xaxis.range;"
        " return Math.abs(a - low) < 0.05 && Math.abs(b - high) < 0.05; }",
        arg=[low, high],
    )


def check_double_click(page):
    """Check that a double click resets the zoom of all charts."""
    page.evaluate(ZOOM, ["reward", [4, 12]])
    wait_for_range(page, "kl", [4, 12])
    page.locator("#chart-kl .nsewdrag").dblclick()
    expect(page).not_to_have_url(re.compile("from="))
    for chart in ("kl", "reward"):
        page.wait_for_function(
            "(chart) => { const [a, b] = document.querySelector(`#chart-${chart} .plot`)._fullLayout.xaxis.range;"
            " return a <= 0 && b >= 20; }",
            arg=chart,
        )


def test_legend_isolates_and_hides_lines_on_all_charts_until_shown_and_in_saved_views(open_page, address, runs):
    page = open_page
    wait_for_lines(page, "reward", ["es-0", "grpo-0"])
    check_isolated_line(page)
    group_button(page, "GRPO").click()
    expect(group_button(page, "GRPO")).to_have_attribute("aria-pressed", "false")
    for chart in ("reward", "kl"):
        wait_for_lines(page, chart, ["es-0"])
    expect(page).to_have_url(re.compile("hide=grpo-0"))
    page.locator(".live[data-state='live']").wait_for()
    record(runs[0], [evaluation(30, -1.0)])
    page.wait_for_function(f"() => ({LAST_X})('reward') === 30")
    refresh(page, "reward")
    wait_for_lines(page, "reward", ["es-0"])
    page.reload()
    scroll_to_chart(page, "reward")
    wait_for_lines(page, "reward", ["es-0"])
    page.get_by_role("button", name="Show all").click()
    wait_for_lines(page, "reward", ["es-0", "grpo-0"])
    expect(page).not_to_have_url(re.compile("hide="))
    expect(page.get_by_role("button", name="Show all")).to_be_hidden()
    scroll_to_chart(page, "kl")
    check_saved_view(page, address)


def check_isolated_line(page):
    """Check that the legend isolates a line by keyboard and by a double click, and shows all again."""
    only = page.get_by_role("button", name=re.compile("^Show only GRPO", re.IGNORECASE))
    only.press("Enter")
    wait_for_lines(page, "reward", ["grpo-0"])
    expect(only).to_have_attribute("aria-pressed", "true")
    only.press("Enter")
    wait_for_lines(page, "reward", ["es-0", "grpo-0"])
    group_button(page, "ES").dblclick()
    wait_for_lines(page, "reward", ["es-0"])
    page.get_by_role("button", name="Show all").click()
    wait_for_lines(page, "reward", ["es-0", "grpo-0"])


def check_saved_view(page, address):
    """Check that a saved view keeps the zoom and hidden lines."""
    page.evaluate(ZOOM, ["reward", [4, 12]])
    wait_for_range(page, "kl", [4, 12])
    group_button(page, "GRPO").click()
    page.locator(".save-view > summary").click()
    page.locator(".save-view").get_by_label("Name").fill("Close")
    page.locator(".save-view").get_by_role("button", name="Save").click()
    page.get_by_role("status").get_by_text("Close").wait_for()
    page.goto(f"{address}/views/")
    page.get_by_role("link", name="Close").first.click()
    expect(page).to_have_url(re.compile("from=4&to=12"))
    expect(page).to_have_url(re.compile("hide=grpo-0"))


def test_smoothing_changes_lines_csv_and_table_without_reload(open_page):
    page = open_page
    raw = page.evaluate(Y_VALUES, "reward")
    page.evaluate("window.sameDocument = true")
    smoothing = page.locator("chart-smoothing")
    smoothing.get_by_label("Smoothing", exact=True).select_option("ema")
    page.wait_for_function(f"(raw) => ({Y_VALUES})('reward') !== raw", arg=raw)
    expect(page).to_have_url(re.compile("smooth=0.6"))
    weak = page.evaluate(Y_VALUES, "reward")
    slider = smoothing.get_by_label("Amount of smoothing")
    slider.press("End")
    expect(smoothing.locator("output")).to_have_text("weight 0.99")
    page.wait_for_function(f"(weak) => ({Y_VALUES})('reward') !== weak", arg=weak)
    smoothing.get_by_label("Smoothing", exact=True).select_option("median")
    expect(page).to_have_url(re.compile("smooth=median-9"))
    slider.press("ArrowRight")
    expect(page).to_have_url(re.compile("smooth=median-11"))
    smoothing.get_by_label("Smoothing", exact=True).select_option("none")
    page.wait_for_function(f"(raw) => ({Y_VALUES})('reward') === raw", arg=raw)
    expect(page).not_to_have_url(re.compile("smooth="))
    assert page.evaluate("window.sameDocument")
    check_smoothed_table(page)


def check_smoothed_table(page):
    """Check that the CSV and the table of a chart have the smoothing of the page."""
    page.locator("chart-smoothing").get_by_label("Smoothing", exact=True).select_option("gaussian")
    expect(page).to_have_url(re.compile("smooth=gaussian-5"))
    page.locator("#chart-reward .chart-menu > summary").click()
    with page.expect_download() as download:
        page.locator("#chart-reward .chart-menu").get_by_role("link", name="CSV").click()
    assert "smooth=gaussian-5" in download.value.url
    with page.expect_response(lambda response: "as=table" in response.url and "smooth=gaussian-5" in response.url):
        page.locator("#chart-reward").get_by_text("Numbers", exact=True).click()


@pytest.mark.soak
def test_hidden_chart_adopts_zoom_when_it_scrolls_into_view(signed_in, address, experiment, runs):
    page = signed_in
    page.set_viewport_size({"width": 900, "height": 500})
    page.goto(f"{address}/experiments/{experiment.pk}/?from=4&to=12&hide=es-0")
    scroll_to_chart(page, "kl")
    wait_for_range(page, "kl", [4, 12])
    wait_for_lines(page, "kl", ["grpo-0"])
    assert drawn_x(page, "kl", "kl")
