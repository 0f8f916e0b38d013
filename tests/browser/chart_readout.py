"""Read and point at charts on an open page."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, TimeoutError

from tests.waiting import wait_until

HOVER_MS = 2000
LINE = """([chart, key]) => {
    const plot = document.querySelector(`#chart-${chart} .plot`);
    const trace = plot?.data?.find((t) => t.meta?.key === key);
    return trace ? Array.from(trace.x) : null;
}"""


def drawn_x(page: Page, chart: str, key: str) -> list[float] | None:
    """Return the x of the points that are drawn of a key, or None if it is not drawn."""
    return page.evaluate(LINE, [chart, key])


def wait_for_x(page: Page, chart: str, key: str, x: list[float]) -> None:
    """Wait until exactly these points are drawn, each once."""
    page.wait_for_function(
        f"([chart, key, x]) => JSON.stringify(({LINE})([chart, key])) === JSON.stringify(x)", arg=[chart, key, x]
    )


def scroll_to_chart(page: Page, chart: str) -> None:
    """Scroll a chart into view: it is not drawn before."""
    page.locator(f"#chart-{chart}").scroll_into_view_if_needed()
    page.wait_for_selector(f"#chart-{chart} .main-svg", state="attached")


def hover_labels(page: Page, chart: str) -> Locator:
    """Return the labels with numbers that a chart shows at the cursor."""
    return page.locator(f"#chart-{chart} .hoverlayer .legend")


def hover_until_labelled(page: Page, chart: str, labelled_chart: str) -> None:
    """Move the mouse to the middle of a chart until another chart shows its numbers there.

    Charts that are still being laid out or drawn again move away under the mouse, or forget it.
    """
    wait_until(
        lambda: _shows_hover_labels(page, chart, labelled_chart),
        f"chart {labelled_chart} to show the numbers under the mouse",
    )


def _shows_hover_labels(page: Page, chart: str, labelled_chart: str) -> bool:
    box = page.locator(f"#chart-{chart} .nsewdrag").bounding_box()
    assert box is not None
    page.mouse.move(box["x"], box["y"])
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=5)
    try:
        hover_labels(page, labelled_chart).wait_for(timeout=HOVER_MS)
    except TimeoutError:
        return False
    return True
