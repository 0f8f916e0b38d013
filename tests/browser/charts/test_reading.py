"""Charts of a page: the order in which they are drawn, values and a cursor at the pointer, pictures, full screen."""

from __future__ import annotations

import math
import re
from pathlib import Path

from playwright.sync_api import expect

from runs.charts import number, share
from tests.browser.axe import check_views
from tests.browser.chart_readout import point_at, scroll_to_chart, values_at_pointer
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


def check_notes(open_page):
    """Check that the note on lines is in the cards that it is about."""
    notes = open_page.locator(".chart .chart-note")
    expect(open_page.locator("#chart-reward .chart-note")).to_contain_text("Bold: the mean of a group's runs.")
    # Reward against KL draws paths, not means with a band.
    expect(open_page.locator("#chart-tradeoff .chart-note")).to_have_count(0)
    expect(notes).not_to_have_count(0)
    expect(open_page.get_by_text("All charts share the cursor and the zoom")).to_have_count(1)


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
