"""Every page stays where it is while it loads, on a fast connection and on a slow one, and the console stays quiet."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page

from runs.access import Scope, link_text
from runs.models import Experiment
from tests import soak_plugin
from tests.browser.filled_site import crowd_size, fill
from tests.browser.page_idle import NO_REQUEST_PENDING
from tests.browser.page_list import STATUSES, all_pages
from tests.conftest import person
from tests.runs.full_runs import a_bit_of_everything, make_run, record

MAX_SHIFT = 0.02
"""Sum of all layout shifts of a page while it loads; 0.1 is what web.dev calls good."""
SPEEDS = {
    "fast": {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1},
    "slow": {"offline": False, "latency": 400, "downloadThroughput": 125_000, "uploadThroughput": 125_000},
}
"""Milliseconds and bytes per second: no limit, and 400 ms and 1 Mbit/s."""
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


@pytest.fixture
def paths(ada: User, experiment: Experiment) -> dict[str, str]:
    """Return page name -> path of every page that Ada may open, filled with a few rows of each kind."""
    fill(experiment, crowd_size(4))
    pair = [make_run(experiment, name, 0, "succeeded") for name in ("es-tiny", "grpo-tiny")]
    for run in pair:
        record(run, a_bit_of_everything())
    User.objects.filter(pk=ada.pk).update(is_superuser=True)
    pages = all_pages(ada, person("bo"), experiment)
    both = f"?run={pair[0].uid}&run={pair[1].uid}"
    return {name: path for name, path in pages.items() if name not in STATUSES} | {
        "compare, drawn": reverse("compare") + both, "compare, grouped": f"{reverse('compare')}{both}&group=method",
        "viewer": reverse("viewer") + both, "curves, drawn": reverse("run-curves", args=[pair[0].uid]),
        "shared run, drawn": reverse("shared", args=[link_text(ada, Scope.RUN, [pair[0].uid], "day")]),
    }  # fmt: skip


@pytest.fixture
def tabs(signed_in: Page, context: BrowserContext, width: int, speed: str) -> list[Page]:
    """Return tabs of this width, on a connection of this speed. Of a fast one every page is loaded without a cache."""
    context.add_init_script(OBSERVE)
    tabs = [signed_in, *(context.new_page() for _ in range(TABS - 1))]
    for tab in tabs:
        tab.set_viewport_size({"width": width, "height": 900})
        session = context.new_cdp_session(tab)
        session.send("Network.enable")
        session.send("Network.setCacheDisabled", {"cacheDisabled": speed == "fast"})
        session.send("Network.emulateNetworkConditions", SPEEDS[speed])
    return tabs


def find_shifts(tabs: list[Page], address: str, paths: dict[str, str]) -> Iterator[tuple[str, list[dict]]]:
    """Yield each page's name and its layout shifts. The tabs load at the same time."""
    pages = iter(paths.items())
    while opened := list(zip(islice(pages, len(tabs)), tabs, strict=False)):
        for (_, path), tab in opened:
            tab.goto(address + path, wait_until="commit")
        for (name, _), tab in opened:
            tab.wait_for_load_state("networkidle")
            tab.wait_for_function(NO_REQUEST_PENDING)
            yield name, tab.evaluate(READ)


@pytest.mark.parametrize(("speed", "width"), [("fast", 390), ("fast", 1440), ("slow", 390), ("slow", 1440)])
def test_pages_do_not_move_while_they_load(tabs: list[Page], address: str, paths: dict[str, str]) -> None:
    moved = {
        name: [f"{shift['value']:.3f} {' '.join(shift['moved'])}" for shift in shifts]
        for name, shifts in find_shifts(tabs, address, paths)
        if sum(shift["value"] for shift in shifts) > MAX_SHIFT
    }
    assert moved == {}
    soak_plugin.count(len(paths), "pages")
