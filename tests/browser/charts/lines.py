"""Lines that a chart draws, its legend, and its refresh."""

from __future__ import annotations

import re

from tests.browser.page_idle import wait_until_idle

LINES = """(chart) => [...new Set(document.querySelector(`#chart-${chart} .plot`).data
    .filter((trace) => trace.visible !== false && trace.meta?.label).map((trace) => trace.legendgroup))]"""
"""The groups whose lines are drawn. A group's line has a second part where not all of its runs go on."""
REFRESH = "(chart) => document.querySelector(`#chart-${chart} live-chart`).refresh(true)"


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
