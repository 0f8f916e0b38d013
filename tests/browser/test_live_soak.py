"""A page of many runs and charts stays small and correct, however long it is open and however often it is cut off.

The delays of key presses are printed and not checked: they depend on the machine as much as on the page.
`make test` cuts a small page off once; `make soak PART=live` runs for its duration with ten runs and twelve charts.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from runs import metrics
from tests import soak_plugin
from tests.runs.full_runs import make_run, record
from workers.records import Metric

ROUNDS, ROUNDS_BETWEEN_CUTS, SETTLING_SECONDS = 3, 3, 20.0
RUNS, CHARTS = (10, 12) if soak_plugin.SECONDS else (3, 3)
KEYS = [f"es/k{i:02d}" for i in range(CHARTS)]
MAX_MEGABYTES = 250
WATCH_KEYS = """() => {
  window.delays = [];
  document.addEventListener("keydown", (event) => window.delays.push(performance.now() - event.timeStamp), true);
}"""
LINES = """key => {
  const chart = [...document.querySelectorAll("live-chart")].find((one) => one.keys.has(key));
  const traces = (chart.plot.data ?? []).filter((t) => t.meta?.run);
  return Object.fromEntries(traces.map((t) => [t.meta.run, [[...t.x], [...t.y]]]));
}"""

WHEN_DRAWN = f"""([key, n]) => {{
  const lines = ({LINES})(key);
  const drawn = Object.values(lines).filter(([x]) => x.length === n);
  return drawn.length === {RUNS} && JSON.stringify(lines);
}}"""
"""A script that returns the lines of a key, as JSON, once each has so many points."""


@pytest.fixture
def runs(experiment, runs_dir):
    created_runs = [make_run(experiment, ("es-tiny", "grpo-tiny")[i % 2], i) for i in range(RUNS)]
    for run in created_runs:
        record(run, [_metric(0)])
    return created_runs


def _metric(step):
    rng = np.random.default_rng(step)
    return Metric(step, {key: float(np.float32(rng.normal())) for key in KEYS})


@pytest.fixture
def open_page(signed_in, address, runs):
    page = signed_in
    page.set_viewport_size({"width": 1440, "height": 4000})
    page.goto(f"{address}/compare/?{'&'.join(f'run={run.uid}' for run in runs)}&key=es/k")
    page.wait_for_selector("live-run[data-state=live]")
    page.wait_for_function(f"() => document.querySelectorAll('live-chart .main-svg').length >= {CHARTS}")
    page.evaluate(WATCH_KEYS)
    return page


CUT = """() => {
  const { socket } = document.querySelector("live-run");
  const isOpen = socket?.readyState === WebSocket.OPEN;
  if (isOpen) socket.close();
  return isOpen;
}"""


def _megabytes(browser, page):
    """Return the memory of the tab's process in MB (PSS), after garbage collection."""
    page.context.new_cdp_session(page).send("HeapProfiler.collectGarbage")
    session = browser.new_browser_cdp_session()
    tabs = [p["id"] for p in session.send("SystemInfo.getProcessInfo")["processInfo"] if p["type"] == "renderer"]
    session.detach()
    rollups = [Path(f"/proc/{pid}/smaps_rollup") for pid in tabs]
    sizes = [
        int(line.split()[1]) for r in rollups if r.exists() for line in r.read_text().splitlines() if "Pss:" in line
    ]
    return max(sizes) / 1024


def test_page_stays_small_and_matches_database(open_page, runs, browser):
    page, cuts = open_page, 0
    for number in soak_plugin.rounds(ROUNDS, "rounds of points", settling_seconds=SETTLING_SECONDS):
        step = number + 1
        for run in runs:
            record(run, [_metric(step)])
        page.keyboard.press("Shift")
        if number % ROUNDS_BETWEEN_CUTS == 1:
            cuts += page.evaluate(CUT)
        page.wait_for_function(WHEN_DRAWN, arg=[KEYS[0], step + 1])
    delays = page.evaluate("window.delays")
    megabytes = _megabytes(browser, page)
    waits = ", ".join(f"{np.percentile(delays, share):.0f} ms p{share}" for share in (50, 95, 100))
    print(f"\n{step} rounds, {cuts} cuts, {megabytes:.0f} MB, keys waited {waits}")
    soak_plugin.count(cuts, "cuts")
    assert cuts
    assert len(delays) == step
    assert megabytes < MAX_MEGABYTES
    for key in KEYS:
        curves = {curve.run_id: curve for curve in metrics.read(runs, [key])}
        expected = {run.uid: [curves[run.pk].x.tolist(), pytest.approx(curves[run.pk].y.tolist())] for run in runs}
        # The value that was waited for: an older figure may be drawn any time, until the newest points are added to it.
        lines = page.wait_for_function(WHEN_DRAWN, arg=[key, step + 1]).json_value()
        assert json.loads(lines) == expected
