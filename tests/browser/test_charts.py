"""Charts of a page in the browser: values at the pointer, shared zoom and cursor, legend, smoothing, pictures."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from runs.access import Scope, link_text
from runs.charts import number, share
from tests.browser.axe import check_views
from tests.browser.chart_readout import (
    drawn_x,
    point_at,
    scroll_to_chart,
    values_at_pointer,
    wait_for_range,
)
from tests.browser.page_idle import find_overflow, wait_until_idle
from tests.runs.full_runs import evaluation, make_run, record

HARD_VALUES = (
    None, 0.0, -0.0, 0.0005, 0.001, 0.00099999, 0.0010005, 1e-7, -1e-7, 5e-324, 0.5, 0.125, -0.125, 0.375, 2.5, 12.25,
    12.35, 1.005, 9.995, 99.95, 999.4, 999.5, -999.5, 1000.0, 1000.5, 1001.5, 1234.5, 1235.5, 1234567.0, -1234567.5,
    999999999.0, 999999999.5, 1e9, 1.125e9, 1.135e9, -2.5e12, 1e21, 1e22, 1.5e25, 0.9995, 0.9994999, -0.9995, 0.99951,
    0.005, 0.015, 0.025, -0.005, -0.025, 0.125001, 1.0, -1.0, 1.5, 3.14159265, 40.0, 41.5, 1 / 3, -2 / 3, 0.1 + 0.2,
    math.nan, math.inf, -math.inf, 100.0, 1e6, 123456.789,
)  # fmt: skip
FORMAT_ALL = """async ([path, values]) => {
    const { number, share } = await import(path);
    const parse = (text) => (text === "None" ? null : Number(text.replace("inf", "Infinity").replace("nan", "NaN")));
    return values.map(parse).map((value) => [number(value), share(value)]);
}"""
LINES = """(chart) => document.querySelector(`#chart-${chart} .plot`).data
    .filter((trace) => trace.visible !== false && trace.meta?.label).map((trace) => trace.legendgroup)"""
LAST_X = "(chart) => Math.max(...document.querySelector(`#chart-${chart} .plot`).data.map((trace) => trace.x.at(-1)))"
Y_VALUES = "(chart) => document.querySelector(`#chart-${chart} .plot`).data.find((trace) => trace.meta?.label).y.join()"
ZOOM = "([chart, range]) => Plotly.relayout(document.querySelector(`#chart-${chart} .plot`), {'xaxis.range': range})"
REFRESH = "(chart) => document.querySelector(`#chart-${chart} live-chart`).refresh(true)"


@pytest.fixture
def runs(experiment, runs_dir):
    """Return runs of two groups, two seeds each; the first run has not ended."""
    out = []
    for name in ("es-tiny", "grpo-tiny"):
        for seed in range(2):
            out.append(make_run(experiment, name, seed, "succeeded" if out else "running"))
            offset = 5 * (name == "es-tiny") + seed
            record(out[-1], [evaluation(step, -40.0 + offset + step + (step % 4)) for step in range(0, 22, 2)])
    return out


@pytest.fixture
def open_page(signed_in, address, experiment, runs):
    """Return the experiment's page with its charts reward and KL drawn."""
    page = signed_in
    page.set_viewport_size({"width": 1440, "height": 1700})
    page.goto(f"{address}/experiments/{experiment.pk}/")
    for chart in ("kl", "reward"):
        scroll_to_chart(page, chart)
    wait_until_idle(page)
    return page


RECORD_DRAWN = """
window.drawn = [];
document.addEventListener("chart-drawn", ({ target }) => drawn.push(target.closest(".chart").id));
"""
LATE_VISIBILITY = """
const Observer = IntersectionObserver;
window.IntersectionObserver = class extends Observer {
    constructor(callback, options) {
        super((entries, observer) => callback([{ isIntersecting: false }, ...entries], observer), options);
    }
};
"""
"""Calls back as on a busy page: with an entry of a time before the chart came into view, and the newest one."""
IDS_IN_READING_ORDER = """() => [...document.querySelectorAll("#main .chart")]
    .map((chart) => ({ id: chart.id, ...chart.getBoundingClientRect().toJSON() }))
    .sort((a, b) => a.top - b.top || a.left - b.left).map((chart) => chart.id)"""


def wait_for_lines(page, chart, slugs):
    page.wait_for_function(
        f"([chart, slugs]) => JSON.stringify(({LINES})(chart)) === JSON.stringify(slugs)", arg=[chart, slugs]
    )


def refresh(page, chart):
    """Fetch a chart's figure again, as live points do."""
    with page.expect_response(lambda response: f"name={chart}" in response.url):
        page.evaluate(REFRESH, chart)
    wait_until_idle(page)


def group_button(page, name):
    return page.locator("chart-legend").get_by_role("button", name=re.compile(f"^{name}", re.IGNORECASE))


def test_open_charts_list_values_save_pictures_fill_the_screen_and_pass_axe_with_menu_open(open_page, views):
    """One page, which these checks leave as it was."""
    check_numbers(open_page)
    check_notes(open_page)
    check_readout(open_page)
    check_cursor(open_page)
    check_picture(open_page, "SVG picture", b"<svg")
    check_picture(open_page, "PNG picture", b"\x89PNG")
    check_full_screen(open_page)
    open_page.locator("#chart-reward .chart-menu > summary").click()
    assert check_views(open_page, views) == "{}"


def check_numbers(open_page):
    """Check that the browser formats numbers as the server does."""
    path = open_page.evaluate("document.querySelector('script[src*=\"js/pages/experiment\"]').src")
    path = re.sub(r"pages/experiment.*", "chart-numbers.js", path)
    actual = open_page.evaluate(FORMAT_ALL, [path, [repr(value) for value in HARD_VALUES]])
    assert actual == [[number(value), share(value)] for value in HARD_VALUES]


def test_charts_are_drawn_in_reading_order_and_on_a_busy_page(signed_in, address, experiment, runs):
    page = signed_in
    page.set_viewport_size({"width": 1440, "height": 3000})
    page.add_init_script(RECORD_DRAWN)
    page.goto(f"{address}/experiments/{experiment.pk}/")
    page.wait_for_function("() => drawn.length >= document.querySelectorAll('#main .chart').length")
    in_reading_order = page.evaluate(IDS_IN_READING_ORDER)
    assert len(in_reading_order) >= 3
    assert page.evaluate("drawn")[: len(in_reading_order)] == in_reading_order
    # Also one that came into view of a busy page.
    page.add_init_script(LATE_VISIBILITY)
    page.goto("about:blank")
    page.goto(f"{address}/experiments/{experiment.pk}/#chart-reward")
    page.wait_for_selector("#chart-reward .main-svg .trace")


def check_readout(page):
    """Check that the readout lists the values at the pointer without covering the plot."""
    before = page.locator("#chart-reward .plot").bounding_box()
    point_at(page, "reward", 0.5, 0.4)
    readout = page.locator("#chart-reward .chart-readout")
    expect(readout.locator(".where")).to_have_text("step 10")
    entries = values_at_pointer(page, "reward").all_inner_texts()
    assert ["ES" in entries[0].upper(), "GRPO" in entries[1].upper(), len(entries)] == [True, True, 2]
    # Means of the two seeds, with the ends of the band.
    assert number(-22.5) in entries[0]
    assert f"{number(-23)} … {number(-22)}, n\u00a0=\u00a02" in entries[0]
    assert page.locator("#chart-reward .plot").bounding_box() == before
    box = readout.bounding_box()
    assert box["y"] + box["height"] <= before["y"]
    expect(page.locator("#chart-reward .hoverlayer > *")).to_have_count(0)
    page.mouse.move(0, 0)
    expect(values_at_pointer(page, "reward")).to_have_count(0)


def test_readout_lists_at_most_five_lines(signed_in, address, runs, experiment):
    more = [make_run(experiment, "es-tiny", seed, "succeeded") for seed in range(2, 6)]
    for run in more:
        record(run, [evaluation(step, -30.0 + run.seed + step) for step in range(0, 22, 2)])
    page = signed_in
    page.goto(f"{address}/compare/?{'&'.join(f'run={run.uid}' for run in (*runs, *more))}")
    scroll_to_chart(page, "reward-mean")
    point_at(page, "reward-mean")
    shown = values_at_pointer(page, "reward-mean").count()
    assert 1 <= shown <= 5
    expect(page.locator("#chart-reward-mean .chart-readout .more")).to_have_text(f"+{8 - shown} more")


def check_cursor(page):
    """Check that the cursor moves on all charts of an axis."""
    point_at(page, "reward", 0.5, 0.4, until="kl")
    expect(page.locator("#chart-kl .where")).to_have_text("step 10")
    lines = [page.locator(f"#chart-{chart} .chart-cursor") for chart in ("reward", "kl", "tradeoff")]
    expect(lines[0]).to_be_visible()
    expect(lines[1]).to_be_visible()
    # Reward against KL has another axis.
    expect(lines[2]).to_be_hidden()


def check_picture(page, name, start):
    """Check that a picture is saved, with its title."""
    page.locator("#chart-reward .chart-menu > summary").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=name).locator("visible=true").click()
    assert download.value.suggested_filename == f"concise-reward.{name[:3].lower()}"
    content = Path(download.value.path()).read_bytes()
    assert content.startswith(start)
    if start == b"<svg":
        text = content.decode()
        assert all(word in text for word in ("Held-out reward", ">step<", "n = 2", "rgb(255, 255, 255)"))
    expect(page.locator("#chart-reward .chart-menu")).not_to_have_attribute("open", "")


def check_full_screen(page):
    """Check that a chart fills the screen and returns."""
    height = "document.querySelector('#chart-reward .plot')._fullLayout.height"
    before = page.evaluate(height)
    button = page.get_by_role("button", name=re.compile("full screen: held-out reward", re.IGNORECASE))
    button.click()
    page.wait_for_function(f"(before) => {height} > 1.5 * before", arg=before)
    expect(button).to_have_accessible_name(re.compile("^Exit full screen"))
    button.click()
    page.wait_for_function(f"(before) => {height} === before", arg=before)


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


TOOLBAR_AND_LEGEND = """(chart) => {
    const [toolbar, legend] = [".modebar", ".legend"].map((part) =>
        document.querySelector(`#chart-${chart} .plot ${part}`).getBoundingClientRect());
    return toolbar.top >= legend.bottom || toolbar.left >= legend.right;
}"""
"""A script that returns whether the toolbar of a chart is clear of its legend."""


def check_notes(open_page):
    """Check that the note on lines is in the cards that it is about."""
    notes = open_page.locator(".chart .chart-note")
    expect(open_page.locator("#chart-reward .chart-note")).to_contain_text("Bold: the mean of a group's runs.")
    # Reward against KL draws paths, not means with a band.
    expect(open_page.locator("#chart-tradeoff .chart-note")).to_have_count(0)
    expect(notes).not_to_have_count(0)
    expect(open_page.get_by_text("All charts share the cursor and the zoom")).to_have_count(1)


@pytest.fixture
def phone(signed_in):
    signed_in.set_viewport_size({"width": 390, "height": 844})
    return signed_in


def test_toolbar_is_clear_of_legend_on_phone_and_full_screen(phone, address, runs):
    page = phone
    page.goto(f"{address}{reverse('run-curves', args=[runs[0].uid])}")
    scroll_to_chart(page, "reward")
    page.evaluate("Plotly.relayout(document.querySelector('#chart-reward .plot'), { showlegend: true })")
    assert page.evaluate(TOOLBAR_AND_LEGEND, "reward")
    page.locator("#chart-reward [data-fullscreen]").click()
    page.wait_for_function("() => document.fullscreenElement !== null")
    assert page.evaluate(TOOLBAR_AND_LEGEND, "reward")


def test_legend_of_groups_stays_in_view_and_help_of_charts_fits_a_phone(phone, address, ada, experiment, runs):
    page = phone
    link = reverse("shared", args=[link_text(ada, Scope.EXPERIMENT, [experiment.pk], "day")])
    for path in (f"/experiments/{experiment.pk}/", link):
        page.goto(address + path)
        legend = page.locator("chart-legend").first
        page.locator("#chart-accuracy").evaluate("chart => chart.scrollIntoView({ block: 'end' })")
        expect(legend).to_be_in_viewport()
        box, plot = legend.bounding_box(), page.locator("#chart-reward").bounding_box()
        assert box["y"] >= 0 and box["height"] < 50
        assert plot["y"] < box["y"]
    page.goto(f"{address}/experiments/{experiment.pk}/")
    for summary in page.locator(".chart .help > summary").all():
        summary.click()
    assert find_overflow(page, 390) == ""
