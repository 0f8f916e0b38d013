"""Walk through pages in several tabs that load at the same time: what moved, and what the console says meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from playwright.sync_api import ConsoleMessage, Page

from tests.browser.conftest import ABORTED_REQUEST_PREFIXES, PATIENCE_MS
from tests.browser.page_idle import NO_REQUEST_PENDING

MAX_SHIFT = 0.02
"""Sum of all layout shifts of a page while it loads; 0.1 is what web.dev calls good."""
SPEEDS = {
    "fast": {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1},
    "brisk": {"offline": False, "latency": 150, "downloadThroughput": 1_000_000, "uploadThroughput": 1_000_000},
    "slow": {"offline": False, "latency": 400, "downloadThroughput": 125_000, "uploadThroughput": 125_000},
}
"""Milliseconds and bytes per second: no limit; slow enough that parts arrive after the page; 400 ms and 1 Mbit/s."""
TABS = 6
OBSERVE = """
window.shifts = [];
new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries()) {
        if (hadRecentInput) continue;
        const text = (node) => (node?.outerHTML ?? String(node?.textContent)).slice(0, 100);
        const rect = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(" ");
        const moved = sources.map((s) => `${text(s.node)} (${rect(s.previousRect)} to ${rect(s.currentRect)})`);
        shifts.push({ value, moved });
    }
}).observe({ type: "layout-shift", buffered: true });
"""
READ = """async () => {
    const frame = () => new Promise(requestAnimationFrame);
    await document.fonts.ready;
    await frame();
    await frame();
    return shifts;
}"""


class Tab:
    """A tab of this width, on a connection of this speed. On a fast one every page is loaded without a cache."""

    def __init__(self, page: Page, width: int, speed: str) -> None:
        self.page = page
        self.messages: list[str] = []
        page.set_default_timeout(PATIENCE_MS)
        page.add_init_script(OBSERVE)
        page.set_viewport_size({"width": width, "height": 900})
        self._session = page.context.new_cdp_session(page)
        self._session.send("Network.enable")
        self._session.send("Network.setCacheDisabled", {"cacheDisabled": speed == "fast"})
        self.limit(SPEEDS[speed])
        page.on("console", self._record)
        page.on("pageerror", lambda error: self.messages.append(str(error)))

    def limit(self, speed: dict[str, float]) -> None:
        """Give the connection this speed from the next request on."""
        self._session.send("Network.emulateNetworkConditions", speed)

    def _record(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(ABORTED_REQUEST_PREFIXES):
            self.messages.append(message.text)

    def open(self, address: str) -> int:
        """Begin to load a page, and return its status."""
        self.messages.clear()
        response = self.page.goto(address, wait_until="commit")
        assert response is not None
        return response.status


@dataclass(frozen=True)
class Loaded:
    """A page that has loaded with all its parts, and whose tab no other page has taken yet."""

    name: str
    tab: Tab
    status: int
    shifts: list[str]
    """What moved while it loaded; empty if that is no more than MAX_SHIFT."""


def make_tabs(page: Page, width: int, speed: str) -> list[Tab]:
    """Return TABS tabs, one of them on this page."""
    pages = [page, *(page.context.new_page() for _ in range(TABS - 1))]
    return [Tab(each, width, speed) for each in pages]


def open_pages(tabs: list[Tab], site: str, paths: dict[str, str]) -> Iterator[Loaded]:
    """Yield each page once it has loaded. The tabs load at the same time."""
    pages = iter(paths.items())
    while batch := list(zip(islice(pages, len(tabs)), tabs, strict=False)):
        statuses = [tab.open(site + path) for (_, path), tab in batch]
        for ((name, _), tab), status in zip(batch, statuses, strict=True):
            tab.page.wait_for_load_state("networkidle")
            tab.page.wait_for_function(NO_REQUEST_PENDING)
            yield Loaded(name, tab, status, _large_shifts(tab.page.evaluate(READ)))


def _large_shifts(shifts: list[dict]) -> list[str]:
    if sum(shift["value"] for shift in shifts) <= MAX_SHIFT:
        return []
    return [f"moved by {shift['value']:.3f}: {' '.join(shift['moved'])}" for shift in shifts]
