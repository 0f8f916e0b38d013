"""Read and point at charts on an open page."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, TimeoutError

from tests.waiting import wait_until

POINTING_MS = 2000
LINE = """([chart, key]) => {
    const plot = document.querySelector(`#chart-${chart} .plot`);
    const trace = plot?.data?.find((t) => t.meta?.key === key);
    return trace ? Array.from(trace.x) : null;
}"""
RANGE = """(chart) => document.querySelector(`#chart-${chart} .plot`)._fullLayout?.xaxis.range.map(
    (end) => Math.round(100 * end) / 100)"""


def drawn_x(page: Page, chart: str, key: str) -> list[float] | None:
    """Return the x of the points that are drawn of a key, or None if it is not drawn."""
    return page.evaluate(LINE, [chart, key])


def wait_for_x(page: Page, chart: str, key: str, x: list[float]) -> None:
    """Wait until exactly these points are drawn, each once."""
    page.wait_for_function(
        f"([chart, key, x]) => JSON.stringify(({LINE})([chart, key])) === JSON.stringify(x)", arg=[chart, key, x]
    )


def wait_for_range(page: Page, chart: str, x_range: list[float]) -> None:
    """Wait until a chart shows this range of x, to two decimals."""
    page.wait_for_function(
        f"([chart, x]) => JSON.stringify(({RANGE})(chart)) === JSON.stringify(x)", arg=[chart, x_range]
    )


def scroll_to_chart(page: Page, chart: str) -> None:
    """Scroll a chart into view: it is not drawn before."""
    page.locator(f"#chart-{chart}").scroll_into_view_if_needed()
    page.wait_for_selector(f"#chart-{chart} .main-svg", state="attached")


def values_at_pointer(page: Page, chart: str) -> Locator:
    """Return the values that a chart lists for its lines at the cursor."""
    return page.locator(f"#chart-{chart} .chart-readout .entry")


def point_at(page: Page, chart: str, at: float = 0.5, height: float = 0.5, until: str = "") -> None:
    """Move the mouse over a chart, `at` of its plot's width and `height` of its height, both from the upper left, until
    the chart `until`, or the chart itself, lists its values there.

    Charts that are still being laid out or drawn again move away under the mouse, or forget it.
    """
    wait_until(
        lambda: _lists_values(page, chart, at, height, until or chart),
        f"chart {until or chart} to list the values at the mouse",
    )


def _lists_values(page: Page, chart: str, at: float, height: float, listing_chart: str) -> bool:
    box = page.locator(f"#chart-{chart} .nsewdrag").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 1, box["y"] + 1)
    page.mouse.move(box["x"] + at * box["width"], box["y"] + height * box["height"], steps=5)
    try:
        values_at_pointer(page, listing_chart).first.wait_for(timeout=POINTING_MS)
    except TimeoutError:
        return False
    return True
