import pytest
from playwright.sync_api import expect

from tests.browser.axe import check_views
from tests.browser.chart_readout import point_at, scroll_to_chart, values_at_pointer, wait_for_range, wait_for_x
from tests.browser.page_idle import wait_for_page
from tests.runs.compare.setting_counts import count_settings
from tests.runs.environments import report_environment
from tests.runs.full_runs import evaluation, make_run, record
from workers.config import EsConfig, GrpoConfig
from workers.records import Metric

ES_SETTINGS, GRPO_SETTINGS = count_settings(EsConfig()), count_settings(GrpoConfig())

RANGES = """() => [...document.querySelectorAll(".chart .plot")]
    .map((plot) => plot._fullLayout).filter((layout) => layout?.meta.x === "step")
    .map((layout) => layout.xaxis.range.map(Math.round))"""
"""Ranges of the x axes of the charts along steps, which share their zoom."""

HIDDEN = """(line) => document.querySelector("#chart-reward-mean .plot").data
    .filter((trace) => trace.legendgroup === line).every((trace) => trace.visible === false)"""


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
    differences = 1 + ES_SETTINGS + GRPO_SETTINGS
    expect(page.locator("[data-at]")).to_have_text(f"1 of {differences}: method")
    page.keyboard.press("Enter")
    expect(page.locator(".is-here")).to_have_count(1)
    expect(page.locator("[data-at]")).to_have_text(f"2 of {differences}: es.iterations")
    expect(page.locator(".is-here")).to_be_visible()
    folds = page.locator(".method-settings")
    assert folds.evaluate_all("folds => folds.map(fold => fold.open)") == [True, False]


def test_config_is_reached_from_the_experiment_page(signed_in, address, experiment, runs):
    page = signed_in
    page.goto(f"{address}{experiment.get_absolute_url()}")
    for run in (runs[0], runs[2]):
        page.get_by_label(f"Select {run.name}").check()
    page.get_by_role("button", name="Compare", exact=True).click()
    wait_for_page(page, "**/compare/?**run=**")
    page.get_by_role("navigation", name="Sections of this page").get_by_role("link", name="Config").click()
    expect(page.get_by_role("heading", name="Config")).to_be_in_viewport()
    expect(page.get_by_text(f"es: {ES_SETTINGS} settings, only in ES runs")).to_be_visible()


def test_baseline_is_chosen_and_a_line_is_hidden_from_the_table_of_runs(signed_in, comparison_url, runs):
    page = signed_in
    page.goto(f"{comparison_url}&x=samples")
    check_hidden_line(page, runs)
    expect(page.get_by_text("Chosen because it is the first.")).to_be_visible()
    page.get_by_label("Baseline", exact=True).select_option(runs[2].uid)
    page.get_by_role("button", name="Set", exact=True).press("Enter")
    wait_for_page(page, f"**baseline={runs[2].uid}**")
    assert "x=samples" in page.url
    expect(page.get_by_label("Baseline", exact=True)).to_have_value(runs[2].uid)
    expect(page.locator(".diff thead th", has_text="baseline")).to_contain_text("C D")


def check_hidden_line(page, runs):
    """Check that the line of a run is hidden from the table of runs, and shown again."""
    scroll_to_chart(page, "reward-mean")
    button = page.get_by_role("button", name="Line A")
    button.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "false")
    page.wait_for_function(HIDDEN, arg=runs[0].uid)
    page.get_by_role("button", name="Show all").press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")


def test_charts_share_zoom_and_cursor_update_and_draw_when_unfolded(signed_in, comparison_url, runs):
    page = signed_in
    page.set_viewport_size({"width": 1440, "height": 1400})
    page.goto(comparison_url)
    for chart in ("reward-mean", "kl"):
        scroll_to_chart(page, chart)
    check_zoom_and_cursor(page)
    check_unfolded_chart(page, runs)


def check_zoom_and_cursor(page):
    """Check that charts share the zoom and the cursor."""
    page.evaluate("Plotly.relayout(document.querySelector('#chart-kl .plot'), {'xaxis.range': [2, 6]})")
    page.wait_for_function(f"() => ({RANGES})().every(([a, b]) => a === 2 && b === 6)")
    page.evaluate("Plotly.relayout(document.querySelector('#chart-reward-mean .plot'), {'xaxis.autorange': true})")
    page.wait_for_function(f"() => ({RANGES})().every(([a, b]) => a < 1 && b > 9)")
    point_at(page, "reward-mean", until="kl")
    expect(values_at_pointer(page, "reward-mean").first).to_be_visible()
    page.mouse.move(0, 0)
    expect(values_at_pointer(page, "kl")).to_have_count(0)


def check_unfolded_chart(page, runs):
    """Check that points arrive, and that a chart that is unfolded then is drawn with the zoom of the page."""
    page.locator(".live[data-state='live']").wait_for()
    record(runs[0], [evaluation(12, -1.0)])
    wait_for_x(page, "reward-mean", "reward/mean", [0, 2, 4, 6, 8, 10, 12])
    page.evaluate("Plotly.relayout(document.querySelector('#chart-reward-mean .plot'), {'xaxis.range': [2, 6]})")
    page.get_by_text("time 1 key").click()
    scroll_to_chart(page, "time-step_seconds")
    wait_for_x(page, "time-step_seconds", "time/step_seconds", [11])
    wait_for_range(page, "time-step_seconds", [2, 6])


def test_comparison_of_many_runs_passes_axe_and_scrolls_in_its_table(signed_in, address, experiment, views):
    names = [f"concise qwen lora rank 8 {name} attempt {i}" for i in range(12) for name in ("es", "grpo")]
    runs = [make_run(experiment, f"{name.split()[5]}-tiny", i, "succeeded") for i, name in enumerate(names)]
    for run, name in zip(runs, names, strict=True):
        run.name = name
        run.save(update_fields=["name"])
        report_environment(run.newest_attempt(), node=f"node{run.seed}")
    query = "&".join(f"run={run.uid}" for run in runs)
    signed_in.goto(f"{address}/compare/?{query}&show=all&group=none")
    signed_in.get_by_text("24 runs: node0, node1, node2, node3 and 20 more").wait_for()
    table = signed_in.get_by_role("region", name="Compared runs, scrolls")
    assert table.evaluate("box => box.scrollHeight > box.clientHeight && box.clientHeight < 500")
    expect(table.get_by_role("link", name=names[0])).to_have_text(f"es attempt 0{names[0]}")
    assert check_views(signed_in, views) == "{}"
