"""Measure when a browser has painted the first chart of an experiment with 10 000 runs, from the click on a link to it.

    python -m benchmarks.paint

Chromium without a window loads the page from one web server process and scrolls to the chart, with a warm cache of
scripts and styles, as a reader has it after the first page. The newest runs have points. The goal is that of the
median.
"""

from __future__ import annotations

import shutil
import sys

from benchmarks import results, servers, table
from benchmarks.closed_loop import percentile

RUNS, CHARTED, STEPS, ROUNDS = 10_000, 300, 40, 12
GOAL_SECONDS = 1.0
CHROMIUM = ("chromium-headless-shell", "chromium", "google-chrome")
PAINTED = """() => new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error("no chart was painted within 30 s")), 30000);
    const done = () => document.querySelector("#chart-reward .main-svg .trace");
    const check = () => done() ? requestAnimationFrame(() => resolve(performance.now())) : requestAnimationFrame(check);
    check();
})"""
"""Resolves with the milliseconds from the start of the navigation to the frame after the first chart was drawn."""


def fill() -> None:
    """Create the runs; the newest have a curve of reward, accuracy and KL."""
    from runs.ingest import ingest
    from runs.models import Attempt
    from workers.records import Line, Metric

    for first in range(0, RUNS, 5_000):
        table.make_runs(range(first, first + 5_000))
    for attempt in Attempt.objects.select_related("run").order_by("-pk")[:CHARTED]:
        values = ({"reward/mean": -1.0 / (step + 1), "accuracy/contains": 0.9, "kl": step / 100}
                  for step in range(STEPS))  # fmt: skip
        ingest(attempt, 1, [Line(step, 1e9 + step, Metric(step, row)) for step, row in enumerate(values)])
    servers.settle()


def painted_seconds(web: servers.Web, executable: str) -> list[float]:
    """Return the seconds until the first chart was painted, of each load but the first."""
    from django.urls import reverse
    from playwright.sync_api import sync_playwright

    name, value = servers.browser_headers()["Cookie"].split("=", 1)
    address = web.address + reverse("experiment", args=[servers.experiment().pk]) + "#chart-reward"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable)
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.add_cookies([{"name": name, "value": value, "url": web.address}])
        page, seconds = context.new_page(), []
        for _ in range(ROUNDS + 1):
            page.goto("about:blank")
            page.goto(address, wait_until="commit")
            seconds.append(page.evaluate(PAINTED) / 1000)
        browser.close()
    return seconds[1:]


def main() -> int:
    """Measure, record, and return the exit code."""
    figure = "first chart painted at 10 000 runs, median"
    executable = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if executable is None:
        results.not_measured(figure, f"none of {', '.join(CHROMIUM)} is installed")
        return results.exit_code()
    with servers.site(), servers.web() as web:
        fill()
        seconds = painted_seconds(web, executable)
    results.at_most(figure, percentile(seconds, 0.5), GOAL_SECONDS, "s")
    results.without_goal("first chart painted at 10 000 runs, slowest", max(seconds), "s")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
