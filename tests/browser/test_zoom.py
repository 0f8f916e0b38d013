"""Zooming in fetches the points that the whole line had no pixels for."""

import numpy as np
import pytest
from django.urls import reverse

from runs.ingest import ingest
from tests.browser.chart_readout import scroll_to_chart
from tests.runs.attempt_records import lines
from tests.runs.full_runs import evaluation, make_run, record
from workers.records import Metric

N = 60_000
INSIDE = """() => {
  const { x, y } = document.querySelector(".chart[id*=noise] .plot").data[0];
  const inside = x.map((step, n) => [step, y[n]]).filter(([step]) => step >= 30000 && step <= 30500);
  return inside;
}"""


@pytest.fixture
def noise(experiment, runs_dir):
    """Return a run of many points, and their values."""
    run = make_run(experiment)
    record(run, [evaluation(0, -40)])
    values = np.random.default_rng(0).normal(size=N)
    ingest(
        run.newest_attempt(), 1, lines(Metric(step, {"noise/a": float(v)}) for step, v in enumerate(values)), offset=1
    )
    return run, values


def test_zoom_fetches_all_points_and_zooming_out_drops_them(signed_in, address, noise):
    run, values = noise
    page = signed_in
    page.goto(f"{address}{reverse('run-curves', args=[run.uid])}")
    chart = page.locator(".chart[id*=noise]")
    chart.evaluate(
        "e => { for (let d = e.closest('details'); d; d = d.parentElement.closest('details')) d.open = true }"
    )
    scroll_to_chart(page, chart.get_attribute("id").removeprefix("chart-"))
    assert len(page.evaluate(INSIDE)) < 100
    zoom = "range => Plotly.relayout(document.querySelector('.chart[id*=noise] .plot'), range)"
    with page.expect_response("**/chart/**from=30000**"):
        page.evaluate(zoom, {"xaxis.range": [30000, 30500]})
    page.wait_for_function(f"() => ({INSIDE})().length === 501")
    assert [y for _, y in page.evaluate(INSIDE)] == pytest.approx(values[30000:30501].tolist(), rel=1e-5)
    with page.expect_response(lambda response: "/chart/" in response.url and "from=" not in response.url):
        page.evaluate(zoom, {"xaxis.autorange": True})
    page.wait_for_function(f"() => ({INSIDE})().length < 100")
