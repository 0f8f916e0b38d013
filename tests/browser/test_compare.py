import pytest
from playwright.sync_api import expect

from tests.browser.axe import check_views
from tests.browser.chart_readout import hovers, look_at, point_at, wait_for_x
from tests.browser.page_idle import arrived
from tests.runs.full_runs import evaluation, make_run, record
from workers.records import Metric

RANGES = """() => [...document.querySelectorAll("chart-sync .plot")]
    .filter((plot) => plot._fullLayout).map((plot) => plot._fullLayout.xaxis.range.map(Math.round))"""


@pytest.fixture
def runs(experiment):
    """Two seeds a method, the first still running."""
    out = []
    for name, seed in (("es-tiny", 0), ("es-tiny", 1), ("grpo-tiny", 0), ("grpo-tiny", 1)):
        out.append(make_run(experiment, name, seed, "succeeded" if out else "running"))
        record(out[-1], [evaluation(step, -40.0 + 3 * step + seed) for step in range(0, 11, 2)])
        record(out[-1], [Metric(11, {"time/step_seconds": 0.5, f"{name.split('-')[0]}/x": 1.0})])
    return out


@pytest.fixture
def compared(address, runs):
    """The address of their comparison."""
    return f"{address}/compare/?{'&'.join(f'run={run.uid}' for run in runs)}"


def test_from_choosing_to_reading_by_keyboard_alone(signed_in, address, runs):
    page = signed_in
    page.goto(f"{address}/compare/")
    for run in (runs[0], runs[2]):
        page.get_by_label(run.name).press("Space")
    page.keyboard.press("Enter")
    arrived(page, "**/compare/?**run=**")
    page.get_by_text("2 of 2 chosen runs shown").wait_for()
    page.get_by_role("link", name="samples").press("Enter")
    page.wait_for_url("**x=samples**")
    page.get_by_role("link", name="make baseline").press("Enter")
    page.wait_for_url("**baseline=**")
    page.get_by_role("button", name="Next difference").press("Enter")
    expect(page.locator("[data-at]")).to_have_text("1 of 39: method")
    page.keyboard.press("Enter")
    expect(page.locator(".is-here")).to_have_count(1)
    expect(page.locator("[data-at]")).to_have_text("2 of 39: es.iterations")


def test_zoom_and_cursor_are_the_same_in_all_charts(signed_in, compared):
    page = signed_in
    page.set_viewport_size({"width": 1440, "height": 1400})
    page.goto(compared)
    for chart in ("reward-mean", "kl"):
        look_at(page, chart)
    page.evaluate("Plotly.relayout(document.querySelector('#chart-kl .plot'), {'xaxis.range': [2, 6]})")
    page.wait_for_function(f"() => ({RANGES})().every(([a, b]) => a === 2 && b === 6)")
    page.evaluate("Plotly.relayout(document.querySelector('#chart-reward-mean .plot'), {'xaxis.autorange': true})")
    page.wait_for_function(f"() => ({RANGES})().every(([a, b]) => a < 1 && b > 9)")
    point_at(page, "reward-mean", "kl")
    expect(hovers(page, "reward-mean")).to_be_visible()
    page.mouse.move(0, 0)
    expect(hovers(page, "kl")).to_have_count(0)


def test_points_arrive_while_a_run_goes_on_and_a_section_is_drawn_when_it_is_unfolded(signed_in, compared, runs):
    page = signed_in
    page.goto(compared)
    look_at(page, "reward-mean")
    page.locator(".live[data-state='live']").wait_for()
    record(runs[0], [evaluation(12, -1.0)])
    wait_for_x(page, "reward-mean", "reward/mean", [0, 2, 4, 6, 8, 10, 12])
    page.get_by_text("time 1 key").click()
    look_at(page, "time-step_seconds")
    wait_for_x(page, "time-step_seconds", "time/step_seconds", [11])


def test_axe_finds_no_serious_fault_and_nothing_hangs_over_the_edge(signed_in, compared, address):
    for where in (compared, f"{compared}&config=everything&smooth=0.6&key=x&y=log", f"{address}/compare/"):
        signed_in.goto(where)
        assert check_views(signed_in) == "{}", where
