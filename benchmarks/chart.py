"""Measure a chart of 10 runs with a million points each, 800 pixels wide, requested at its own address.

    python -m benchmarks.chart

Two addresses: the API's, which gives the lines alone, and the experiment page's, which groups the runs as it draws
them. Over HTTP from one web server process, cold caches never, compacted points always; the goal is that of the slowest
twentieth of either.
"""

from __future__ import annotations

import sys
from urllib.parse import urlencode

import numpy as np

from benchmarks import results, servers
from benchmarks.closed_loop import Page, get, percentile
from benchmarks.points import START

RUNS, POINTS, FLUSH = 10, 1_000_000, 20_000
PX, ROUNDS = 800, 100
GOAL_MS = 300.0
KEY = "reward/mean"


def fill(site: servers.Site) -> list[str]:
    """Write the points as a pushed run would, and compact them; return the runs' uids."""
    from runs import ingest
    from runs.ingest import Columns
    from runs.metrics import Block
    from runs.models import Attempt, Run

    for number in range(RUNS):
        writer = site.writer()
        attempt = Attempt.objects.select_related("run").get(key=writer.key)
        values = np.cumsum(np.random.default_rng(number).standard_normal(POINTS)).astype(np.float32).astype(np.float64)
        for first in range(0, POINTS, FLUSH):
            steps, rows = np.arange(first, first + FLUSH), np.arange(FLUSH, dtype=np.uint32)
            cuts, part = np.array([0, FLUSH]), values[first : first + FLUSH]
            ingest.push(attempt, 0, Columns(first, Block((KEY,), steps, START + steps * 0.25, cuts, rows, part)))
        while ingest.compact(writer.run_id):
            pass
    servers.settle()
    return list(Run.objects.values_list("uid", flat=True))


def addresses(uids: list[str]) -> dict[str, str]:
    """Return the requested addresses, by name."""
    from django.urls import reverse

    chart = reverse("experiment-chart", args=[servers.experiment().pk])
    series = urlencode([("key", KEY), ("px", PX), *(("run", uid) for uid in uids)])
    return {"series of the API": f"/api/v1/series?{series}", "chart of the experiment": f"{chart}?name=reward"}


def report(name: str, pages: list[Page]) -> None:
    """Record the times and the size of one address."""
    slow, typical = (1000 * percentile([page.seconds for page in pages], part) for part in (0.95, 0.5))
    results.at_most(f"{name}, p95", slow, GOAL_MS, "ms")
    results.without_goal(f"{name}, median", typical, "ms")
    results.without_goal(f"{name}, gzip", pages[-1].size / 1000, "kB")


def main() -> int:
    """Measure, record, and return the exit code."""
    with servers.site() as site, servers.web() as web:
        addresses_by_name, headers = addresses(fill(site)), servers.browser_headers()
        pages: dict[str, list[Page]] = {name: [] for name in addresses_by_name}
        for number in range(ROUNDS + 2):
            for name, address in addresses_by_name.items():
                page = get(web.port, address, headers)
                if number >= 2:
                    pages[name].append(page)
    for name, of_one_address in pages.items():
        report(name, of_one_address)
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
