"""Charts on a phone: legend, toolbar and help fit."""

from __future__ import annotations

from django.urls import reverse
from playwright.sync_api import expect

from runs.access import Scope, link_text
from tests.browser.chart_readout import scroll_to_chart
from tests.browser.page_idle import find_overflow

TOOLBAR_AND_LEGEND = """(chart) => {
    const [toolbar, legend] = [".modebar", ".legend"].map((part) =>
        document.querySelector(`#chart-${chart} .plot ${part}`).getBoundingClientRect());
    return toolbar.top >= legend.bottom || toolbar.left >= legend.right;
}"""
"""A script that returns whether the toolbar of a chart is clear of its legend."""


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
        page.locator("#chart-right").evaluate("chart => chart.scrollIntoView({ block: 'end' })")
        expect(legend).to_be_in_viewport()
        box, plot = legend.bounding_box(), page.locator("#chart-reward").bounding_box()
        assert box["y"] >= 0 and box["height"] < 50
        assert plot["y"] < box["y"]
    page.goto(f"{address}/experiments/{experiment.pk}/")
    for summary in page.locator(".chart .help > summary").all():
        summary.click()
    assert find_overflow(page, 390) == ""
