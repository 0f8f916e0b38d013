"""A page of ten runs and twelve charts stays small and right, however long it is open and however often cut off.

How long keys waited is printed: it says as much of the machine as of the page, and is not for a test to judge.
ESWEB_LIVE_SECONDS and ESWEB_LIVE_CUTS choose how long and how often; `make soak` is five minutes and a hundred cuts.
"""

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

from runs import series
from tests.runs.pages import make_run, record
from workers.records import Metric

SECONDS = float(os.environ.get("ESWEB_LIVE_SECONDS", "10"))
CUTS = int(os.environ.get("ESWEB_LIVE_CUTS", "5"))
RUNS, KEYS, ROUND_SECONDS = 10, [f"es/k{i:02d}" for i in range(12)], 0.5
MB_AT_MOST = 250
WATCH_KEYS = """() => {
  window.delays = [];
  document.addEventListener("keydown", (event) => window.delays.push(performance.now() - event.timeStamp), true);
}"""
LINES = """key => {
  const chart = [...document.querySelectorAll("live-chart")].find((one) => one.keys.has(key));
  return Object.fromEntries(chart.plot.data.filter((t) => t.meta?.run).map((t) => [t.meta.run, [[...t.x], [...t.y]]]));
}"""


@pytest.fixture
def runs(experiment, runs_dir):
    made = [make_run(experiment, ("es-tiny", "grpo-tiny")[i % 2], i) for i in range(RUNS)]
    for run in made:
        record(run, [_metric(0)])
    return made


def _metric(step):
    rng = np.random.default_rng(step)
    return Metric(step, {key: float(np.float32(rng.normal())) for key in KEYS})


@pytest.fixture
def open_page(signed_in, address, runs):
    page = signed_in
    page.set_viewport_size({"width": 1440, "height": 4000})
    page.goto(f"{address}/compare/?{'&'.join(f'run={run.uid}' for run in runs)}&key=es/k")
    page.wait_for_selector("live-run[data-state=live]")
    page.wait_for_function("() => document.querySelectorAll('live-chart .main-svg').length >= 12")
    page.evaluate(WATCH_KEYS)
    return page


CUT = """() => {
  const { socket } = document.querySelector("live-run");
  const isOpen = socket?.readyState === WebSocket.OPEN;
  if (isOpen) socket.close();
  return isOpen;
}"""


def _megabytes(browser, page):
    """What the tab holds, as its process shares and owns it (PSS), without what waits to be thrown away."""
    page.context.new_cdp_session(page).send("HeapProfiler.collectGarbage")
    session = browser.new_browser_cdp_session()
    tabs = [p["id"] for p in session.send("SystemInfo.getProcessInfo")["processInfo"] if p["type"] == "renderer"]
    session.detach()
    rollups = [Path(f"/proc/{pid}/smaps_rollup") for pid in tabs]
    sizes = [
        int(line.split()[1]) for r in rollups if r.exists() for line in r.read_text().splitlines() if "Pss:" in line
    ]
    return max(sizes) / 1024


def test_it_stays_small_and_ends_as_the_database_says(open_page, runs, browser):
    page, step, started, cut = open_page, 0, time.monotonic(), 0
    while (spent := time.monotonic() - started) < SECONDS or cut < CUTS:
        step += 1
        for run in runs:
            record(run, [_metric(step)])
        page.keyboard.press("Shift")
        if spent / SECONDS > cut / CUTS:
            cut += page.evaluate(CUT)
        page.wait_for_timeout(1000 * ROUND_SECONDS)
    delays = page.evaluate("window.delays")
    megabytes = _megabytes(browser, page)
    waits = ", ".join(f"{np.percentile(delays, share):.0f} ms p{share}" for share in (50, 95, 100))
    print(f"\n{step} rounds, {cut} cuts, {megabytes:.0f} MB, keys waited {waits}")
    assert len(delays) == step
    assert megabytes < MB_AT_MOST
    for key in KEYS:
        curves = {curve.run_id: curve for curve in series.read(runs, [key])}
        expected = {run.uid: [curves[run.pk].x.tolist(), pytest.approx(curves[run.pk].y.tolist())] for run in runs}
        # Taken as it was waited for: an older figure may be drawn any time, until the newest points are added to it.
        whole = f"""([key, n]) => {{
            const lines = ({LINES})(key);
            return Object.values(lines).every(([x]) => x.length === n) && JSON.stringify(lines);
        }}"""
        drawn = page.wait_for_function(whole, arg=[key, step + 1]).json_value()
        assert json.loads(drawn) == expected
