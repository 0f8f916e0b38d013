"""What a chart on an open page shows."""

from __future__ import annotations

from playwright.sync_api import Page

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
