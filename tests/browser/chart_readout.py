"""What a chart on an open page shows."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, TimeoutError

from tests.waiting import wait_until

POINTED_MS = 2000
LINE = """([chart, key]) => {
    const plot = document.querySelector(`#chart-${chart} .plot`);
    const trace = plot?.data?.find((t) => t.meta?.key === key);
    return trace ? Array.from(trace.x) : null;
}"""


def x_of(page: Page, chart: str, key: str) -> list[float] | None:
    """The x of the points that are drawn of a key, or None where it is not drawn."""
    return page.evaluate(LINE, [chart, key])


def wait_for_x(page: Page, chart: str, key: str, x: list[float]) -> None:
    """Waits until exactly these points are drawn, each once."""
    page.wait_for_function(
        f"([chart, key, x]) => JSON.stringify(({LINE})([chart, key])) === JSON.stringify(x)", arg=[chart, key, x]
    )


def look_at(page: Page, chart: str) -> None:
    """Brings a chart into sight: it is not drawn before."""
    page.locator(f"#chart-{chart}").scroll_into_view_if_needed()
    page.wait_for_selector(f"#chart-{chart} .main-svg", state="attached")


def hovers(page: Page, chart: str) -> Locator:
    """The numbers that a chart shows where the cursor is."""
    return page.locator(f"#chart-{chart} .hoverlayer .legend")


def point_at(page: Page, chart: str, shown_by: str) -> None:
    """Moves the mouse to the middle of a chart, until another one shows what it has there: charts that are still being
    laid out or drawn anew move away under the mouse, or forget it."""
    wait_until(lambda: _has_pointed(page, chart, shown_by), f"chart {shown_by} to show the numbers under the mouse")


def _has_pointed(page: Page, chart: str, shown_by: str) -> bool:
    box = page.locator(f"#chart-{chart} .nsewdrag").bounding_box()
    assert box is not None
    page.mouse.move(box["x"], box["y"])
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=5)
    try:
        hovers(page, shown_by).wait_for(timeout=POINTED_MS)
    except TimeoutError:
        return False
    return True
