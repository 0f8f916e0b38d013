"""Tasks of a user, each with the clicks that it may take, counted by the browser, from an experiment or from home."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from judging.models import Tournament
from runs.models import Experiment, Run, Sweep
from tests.browser.chart_readout import scroll_to_chart
from tests.runs.attempt_records import answer
from tests.runs.flags.flag_cases import make_flagged_run
from tests.runs.full_runs import evaluation, make_run, record

COUNT = """document.addEventListener("click", (event) => {
    if (event.isTrusted) sessionStorage.clicks = Number(sessionStorage.clicks ?? 0) + 1;
}, true);"""
"""Counts the clicks that reach the page. When something moves under a click, Playwright stops it at the window and
clicks again: a listener of the window would count both."""


@pytest.fixture
def runs(experiment: Experiment, runs_dir: object) -> list[Run]:
    """Return two runs of each method with responses, and one that cheats."""
    out = []
    for name, seed in (("es-tiny", 0), ("es-tiny", 1), ("grpo-tiny", 0), ("grpo-tiny", 1)):
        run = make_run(experiment, name, seed, "succeeded")
        record(run, [evaluation(step, -40.0 + 3 * step + seed) for step in range(0, 11, 2)])
        record(run, [answer(10, f"Madrid {run.seed} {name}")])
        out.append(run)
    hacked = make_flagged_run(experiment)
    Run.objects.filter(pk=hacked.pk).update(name="hacked")
    hacked.refresh_from_db()
    return [*out, hacked]


@pytest.fixture
def page(signed_in: Page, address: str, experiment: Experiment, runs: list[Run]) -> Page:
    """Open the page of the experiment, which then counts the clicks of its user."""
    signed_in.add_init_script(COUNT)
    start(signed_in, f"{address}{experiment.get_absolute_url()}")
    return signed_in


def start(page: Page, url: str) -> None:
    """Open the page on which a task begins."""
    page.goto(url)
    page.evaluate("sessionStorage.clicks = 0")


def clicks(page: Page) -> int:
    """Return the clicks of the user so far, on this page and those before it."""
    return int(page.evaluate("Number(sessionStorage.clicks)"))


def choose(page: Page, run: Run) -> None:
    """Click the box of a run in the table."""
    page.get_by_label(f"Select {run.name}", exact=True).click()


def switch(page: Page, name: str) -> Locator:
    """Return the link of a switch above the charts."""
    return page.locator(".axes").get_by_role("link", name=name, exact=True)


def test_reading_tasks_take_few_clicks(page: Page, address: str, experiment: Experiment, runs: list[Run]) -> None:
    hide_one_line(page)
    url = f"{address}{experiment.get_absolute_url()}"
    start(page, url)
    read_es_against_grpo_by_method_with_bands(page)
    start(page, url)
    read_why_a_run_is_flagged(page, runs)
    start(page, url)
    read_one_prompt_side_by_side(page, runs)
    start(page, f"{address}/")
    read_the_kl_curve_of_one_run(page, runs)


def hide_one_line(page: Page) -> None:
    scroll_to_chart(page, "reward")
    page.locator("chart-legend [data-line]").first.click()
    hidden = page.locator("chart-legend [data-line]").first.get_attribute("data-line")
    page.wait_for_function(
        """(line) => document.querySelector("#chart-reward .plot").data
        .filter((trace) => trace.legendgroup === line).every((trace) => trace.visible === false)""",
        arg=hidden,
    )
    assert clicks(page) <= 1


def read_es_against_grpo_by_method_with_bands(page: Page) -> None:
    switch(page, "method").click()
    scroll_to_chart(page, "reward")
    names = page.evaluate("document.querySelector('#chart-reward .plot').data.map((trace) => trace.name)")
    assert "GRPO, min–max" in names and any(name.startswith("ES, ") for name in names)
    expect(page.locator("chart-legend")).to_contain_text("n = 2")
    assert clicks(page) <= 2


def read_why_a_run_is_flagged(page: Page, runs: list[Run]) -> None:
    row = page.locator(".runs-table tbody tr", has_text=runs[-1].name)
    row.locator(".flag-cell a").click()
    expect(page.locator("#flags")).to_contain_text("Empty responses")
    assert clicks(page) <= 1


def read_one_prompt_side_by_side(page: Page, runs: list[Run]) -> None:
    choose(page, runs[0])
    choose(page, runs[2])
    page.get_by_role("button", name="Responses", exact=True).click()
    expect(page.get_by_text("Madrid 0 es-tiny").first).to_be_visible()
    expect(page.get_by_text("Madrid 0 grpo-tiny").first).to_be_visible()
    assert clicks(page) <= 3


def read_the_kl_curve_of_one_run(page: Page, runs: list[Run]) -> None:
    page.get_by_role("link", name=runs[0].name, exact=True).first.click()
    chart = page.locator("#chart-kl, [data-chart*='kl']").first
    page.wait_for_url(f"**{runs[0].get_absolute_url()}")
    if (tab := page.locator("main").get_by_role("link", name="Curves", exact=True)).count():
        tab.click()
    chart.scroll_into_view_if_needed()
    expect(chart.locator(".plot")).to_be_visible()
    assert clicks(page) <= 2


def test_a_tournament_from_chosen_runs(page: Page, runs: list[Run]) -> None:
    choose(page, runs[0])
    choose(page, runs[2])
    page.get_by_role("button", name="Judge these").click()
    page.get_by_role("button", name="Create tournament").click()
    expect(page.get_by_text("Vote or invite voters.")).to_be_visible()
    assert {c.run_id for c in Tournament.objects.get().contestants.all()} == {runs[0].pk, runs[2].pk}
    assert clicks(page) <= 4


@pytest.mark.soak
def test_a_sweep_of_two_by_two(page: Page) -> None:
    launch_form(page)
    page.get_by_role("link", name="Sweep", exact=True).click()
    for text in ("es.sigma", "0.01, 0.02", "es.alpha", "0.005, 0.01"):
        page.keyboard.press("Tab")
        page.keyboard.type(text)
    expect(page.locator("#standing")).to_contain_text("a sweep of 4 runs")
    page.get_by_role("button", name="Launch").click()
    page.get_by_role("heading", name="es-tiny sweep", level=1).wait_for()
    sweep = Sweep.objects.get()
    assert sweep.grid == {"es.sigma": [0.01, 0.02], "es.alpha": [0.005, 0.01]}
    assert sorted(sweep.runs.values_list("name", flat=True)) == [
        f"σ={sigma}, α={alpha} seed 0 · es-tiny sweep" for sigma in (0.01, 0.02) for alpha in (0.005, 0.01)
    ]
    assert clicks(page) <= 8


def launch_form(page: Page) -> None:
    """Open the launch form from the page of the experiment."""
    page.get_by_role("link", name="Launch runs").click()
    expect(page.locator("#standing")).to_contain_text("Ready: 1 run.")


# The next have twins in make test that do the same without counting clicks.


@pytest.mark.soak
def test_the_config_difference_of_two_runs(page: Page, runs: list[Run]) -> None:
    choose(page, runs[0])
    choose(page, runs[2])
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator("#diff-title")).to_be_visible()
    expect(page.locator("[data-differs='method']")).to_contain_text("grpo")
    assert clicks(page) <= 3


@pytest.mark.soak
def test_the_largest_gap_to_the_pinned_run(page: Page, runs: list[Run]) -> None:
    page.get_by_role("button", name=f"Pin {runs[0].name}").click()
    page.get_by_role("link", name="Sort by the difference of Reward from the pinned run").click()
    expect(page.locator(".runs-table tbody tr").nth(0)).to_contain_text(runs[0].name)
    expect(page.locator(".runs-table tbody tr").nth(1)).to_contain_text(runs[-1].name)
    assert clicks(page) <= 3


@pytest.mark.soak
def test_a_launch_with_another_sigma(page: Page) -> None:
    launch_form(page)
    page.keyboard.press("/")
    page.keyboard.type("sigma")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+A")
    page.keyboard.type("0.02")
    expect(page.locator("#standing")).to_contain_text("Name: es-tiny σ=0.02 seed 0")
    page.get_by_role("button", name="Launch").click()
    page.get_by_role("heading", name="es-tiny σ=0.02 seed 0", level=1).wait_for()
    run = Run.objects.get(name="es-tiny σ=0.02 seed 0")
    assert run.config["es"]["sigma"] == 0.02
    assert clicks(page) <= 4
