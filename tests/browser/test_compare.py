import pytest
from playwright.sync_api import expect

from tests.browser.axe import check_views
from tests.browser.chart_readout import hover_labels, hover_until_labelled, scroll_to_chart, wait_for_x
from tests.browser.page_idle import wait_for_page
from tests.runs.full_runs import evaluation, make_run, record
from workers.records import Metric

RANGES = """() => [...document.querySelectorAll("chart-sync .plot")]
    .filter((plot) => plot._fullLayout).map((plot) => plot._fullLayout.xaxis.range.map(Math.round))"""


@pytest.fixture
def runs(experiment):
    """Return runs of two seeds a method, the first still running."""
    out = []
    for name, seed in (("es-tiny", 0), ("es-tiny", 1), ("grpo-tiny", 0), ("grpo-tiny", 1)):
        out.append(make_run(experiment, name, seed, "succeeded" if out else "running"))
        record(out[-1], [evaluation(step, -40.0 + 3 * step + seed) for step in range(0, 11, 2)])
        record(out[-1], [Metric(11, {"time/step_seconds": 0.5, f"{name.split('-')[0]}/x": 1.0})])
    return out


@pytest.fixture
def comparison_url(address, runs):
    """Return the address of the comparison of these runs."""
    return f"{address}/compare/?{'&'.join(f'run={run.uid}' for run in runs)}"


def test_comparison_is_opened_and_read_by_keyboard(signed_in, address, runs):
    page = signed_in
    page.goto(f"{address}/compare/")
    for run in (runs[0], runs[2]):
        page.get_by_label(run.name).press("Space")
    page.keyboard.press("Enter")
    wait_for_page(page, "**/compare/?**run=**")
    page.get_by_text("2 of 2 selected runs shown").wait_for()
    page.get_by_role("link", name="samples").press("Enter")
    page.wait_for_url("**x=samples**")
    page.get_by_role("link", name="set as baseline").press("Enter")
    page.wait_for_url("**baseline=**")
    page.get_by_role("button", name="Next difference").press("Enter")
    expect(page.locator("[data-at]")).to_have_text("1 of 39: method")
    page.keyboard.press("Enter")
    expect(page.locator(".is-here")).to_have_count(1)
    expect(page.locator("[data-at]")).to_have_text("2 of 39: es.iterations")


def test_charts_share_zoom_and_cursor(signed_in, comparison_url):
    page = signed_in
    page.set_viewport_size({"width": 1440, "height": 1400})
    page.goto(comparison_url)
    for chart in ("reward-mean", "kl"):
        scroll_to_chart(page, chart)
    page.evaluate("Plotly.relayout(document.querySelector('#chart-kl .plot'), {'xaxis.range': [2, 6]})")
    page.wait_for_function(f"() => ({RANGES})().every(([a, b]) => a === 2 && b === 6)")
    page.evaluate("Plotly.relayout(document.querySelector('#chart-reward-mean .plot'), {'xaxis.autorange': true})")
    page.wait_for_function(f"() => ({RANGES})().every(([a, b]) => a < 1 && b > 9)")
    hover_until_labelled(page, "reward-mean", "kl")
    expect(hover_labels(page, "reward-mean")).to_be_visible()
    page.mouse.move(0, 0)
    expect(hover_labels(page, "kl")).to_have_count(0)


def test_comparison_charts_update_and_draw_when_unfolded(signed_in, comparison_url, runs):
    page = signed_in
    page.goto(comparison_url)
    scroll_to_chart(page, "reward-mean")
    page.locator(".live[data-state='live']").wait_for()
    record(runs[0], [evaluation(12, -1.0)])
    wait_for_x(page, "reward-mean", "reward/mean", [0, 2, 4, 6, 8, 10, 12])
    page.get_by_text("time 1 key").click()
    scroll_to_chart(page, "time-step_seconds")
    wait_for_x(page, "time-step_seconds", "time/step_seconds", [11])


def test_comparison_passes_axe_and_fits(signed_in, comparison_url, address):
    for url in (comparison_url, f"{comparison_url}&config=everything&smooth=0.6&key=x&y=log", f"{address}/compare/"):
        signed_in.goto(url)
        assert check_views(signed_in) == "{}", url
