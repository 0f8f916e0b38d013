"""A sweep by clicks: set on the launch form, previewed before launch, then run, paused and cancelled; its results."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from runs.launching import reconcile
from runs.models import Cluster, Experiment, Run, Series, Sweep
from tests.browser.axe import View, check_views
from tests.runs.launching.conftest import small  # noqa: F401
from tests.runs.local_cluster import Small
from tests.waiting import wait_until


@pytest.fixture
def local(ada) -> Cluster:
    return Cluster.objects.get(name="local")


def test_sweep_is_launched_paused_and_cancelled_by_clicks(
    signed_in,
    address: str,
    experiment: Experiment,
    small: Small,  # noqa: F811
    local: Cluster,
) -> None:
    page = signed_in
    small.program = "import pathlib, time\nwhile not pathlib.Path('../../go').exists(): time.sleep(0.01)"
    page.goto(f"{address}{experiment.get_absolute_url()}launch/?preset=es-micro")
    expect(page.get_by_label("Key 2")).to_be_hidden()
    page.get_by_label("Key 1").select_option("es.sigma")
    page.locator("[name='sweep-values_1']").fill("0.1, -1")
    expect(page.locator("#standing")).to_contain_text("1 problem to fix")
    expect(page.locator("[id='id_sweep-values_1_problems']")).to_contain_text("must be above 0")
    page.locator("[name='sweep-values_1']").fill("0.1, 0.2")
    page.get_by_label("Key 2").select_option("es.population")
    page.locator("[name='sweep-values_2']").fill("4, 8")
    page.locator("[name='sweep-at_once']").fill("1")
    expect(page.locator("#standing")).to_contain_text("a sweep of 4 runs: 4 × 1 (cells × seeds), 1 at a time")
    page.get_by_role("button", name="Launch").click()

    expect(page.get_by_role("heading", name="es-micro sweep", level=1)).to_be_visible()
    expect(page.locator("#standing")).to_contain_text("4 waiting")
    reconcile.reconcile_cluster(local)
    expect(page.locator("#standing")).to_contain_text("3 waiting")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#standing")).to_contain_text("3 waiting until the sweep is resumed")
    (small.root.parent / "runs" / "go").touch()
    wait_until(
        lambda: reconcile.reconcile_cluster(local) and Run.objects.filter(state="succeeded").exists(),
        "the first run of the sweep to succeed",
    )
    expect(page.locator("#standing")).to_contain_text("1 of 4 runs finished")
    assert len(small.submitted) == 1

    page.get_by_role("button", name="Cancel sweep").click()
    page.get_by_role("button", name="Cancel all runs").click()
    page.get_by_text("Cancel of 3 runs requested").wait_for()
    expect(page.locator("#standing")).to_contain_text("4 of 4 runs finished")
    page.get_by_role("button", name="Undo cancel").click()
    page.get_by_text("3 runs resume").wait_for()
    assert Sweep.objects.get().runs.filter(state="created").count() == 3


@pytest.fixture
def finished_sweep(experiment: Experiment) -> Sweep:
    """Create a sweep of four cells with two runs each, which have a reward and a KL."""
    cells = [{"es.sigma": sigma, "es.population": n} for sigma in (0.01, 0.1) for n in (4, 8)]
    sweep = Sweep.objects.create(
        experiment=experiment, name="done", base={}, cells=cells, seeds=[0, 1], at_once=1,
        created_by=experiment.owner,
    )  # fmt: skip
    runs = Run.objects.bulk_create(
        Run(
            experiment=experiment, name=f"run {n} of seed {seed}", method="es", seed=seed, config={}, sweep=sweep,
            cell=cell, state="succeeded", created_by=experiment.owner,
        )
        for n, cell in enumerate(cells) for seed in (0, 1)
    )  # fmt: skip
    Series.objects.bulk_create(
        Series(run=run, key=key, points=1, last_step=0, last_value=value, min_value=value, max_value=value)
        for n, run in enumerate(runs) for key, value in (("reward/mean", float(n)), ("kl", 0.1 * (n + 1)))
    )  # fmt: skip
    return sweep


def refresh(page: Page) -> None:
    """Refresh the page's parts, as a change of a run does."""
    with page.expect_response("**/results/*"):
        page.evaluate("document.body.dispatchEvent(new CustomEvent('run-changed:state'))")
    # Response.finished() would wait without a limit if its event was missed; htmx marks its requests until the swap.
    page.wait_for_function("() => !document.querySelector('.htmx-request')")


def test_selected_metric_and_keys_stay_after_a_refresh(signed_in, address: str, finished_sweep: Sweep) -> None:
    page = signed_in
    page.goto(f"{address}{finished_sweep.get_absolute_url()}")
    check_new_metric(page, finished_sweep)
    check_selection(page)


def check_new_metric(page: Page, sweep: Sweep) -> None:
    """Check that a new metric of the runs is offered after a refresh."""
    run = sweep.runs.first()
    Series.objects.create(run=run, key="es/dead", points=1, last_step=0, last_value=1.0, min_value=1.0, max_value=1.0)
    refresh(page)
    page.get_by_role("combobox", name="Metric", exact=True).select_option("es/dead")
    expect(page.get_by_role("combobox", name="Of each run").locator("option")).to_have_count(4)
    expect(page.get_by_role("region", name="Heat map, scrolls sideways")).to_contain_text("n = 1 of 2")
    page.get_by_role("combobox", name="Metric", exact=True).select_option("reward/mean")


def check_selection(page: Page) -> None:
    """Check that the metric and the keys of rows and columns stay after a refresh and a reload."""
    heat = page.get_by_role("region", name="Heat map, scrolls sideways")
    expect(heat.locator(".is-best")).to_contain_text("6.50")
    page.get_by_role("combobox", name="Metric", exact=True).focus()
    page.get_by_role("combobox", name="Metric", exact=True).select_option("kl")
    expect(heat.locator(".is-best")).to_contain_text("0.150")
    expect(page.locator("#standing")).to_contain_text("lower is better")
    expect(page.get_by_role("combobox", name="Metric", exact=True)).to_be_focused()
    page.get_by_role("combobox", name="Rows").select_option("es.sigma")
    expect(heat.locator(".corner")).to_contain_text("es.sigma ↓ es.population →")
    expect(page.get_by_role("combobox", name="Columns")).to_have_value("es.population")
    assert "metric=kl" in page.url and "rows=es.sigma" in page.url

    Series.objects.filter(key="kl", last_value__lt=0.35).update(last_value=0.01)
    page.get_by_role("combobox", name="Of each run").focus()
    refresh(page)
    expect(heat.locator(".is-best")).to_contain_text("0.0100")
    expect(page.get_by_role("combobox", name="Of each run")).to_be_focused()
    page.reload()
    expect(heat.locator(".corner")).to_contain_text("es.sigma ↓ es.population →")
    expect(page.get_by_role("combobox", name="Metric", exact=True)).to_have_value("kl")


def test_links_of_the_curves_and_offers_keep_the_metric(signed_in, address: str, finished_sweep: Sweep) -> None:
    page = signed_in
    page.goto(f"{address}{finished_sweep.get_absolute_url()}")
    check_first_link(page)
    page.goto(f"{address}{finished_sweep.get_absolute_url()}?metric=reward/mean")
    check_links(page)
    check_offer(page)


def check_first_link(page: Page) -> None:
    """Check that the first link of the curves keeps the metric of a page without parameters."""
    curves = page.locator("#sweep-curves")
    curves.scroll_into_view_if_needed()
    page.get_by_role("combobox", name="Metric", exact=True).select_option("kl")
    curves.get_by_role("link", name="cell", exact=True).click()
    page.wait_for_load_state()
    expect(page.get_by_role("combobox", name="Metric", exact=True)).to_have_value("kl")
    assert "metric=kl" in page.url


def check_links(page: Page) -> None:
    """Check that links of the curves keep the metric that was selected after the page was loaded."""
    curves = page.locator("#sweep-curves")
    curves.scroll_into_view_if_needed()
    expect(curves.get_by_role("link", name="tokens", exact=True)).to_be_visible()
    metric = page.get_by_role("combobox", name="Metric", exact=True)
    for key in ("kl", "reward/mean", "kl"):
        metric.select_option(key)
        expect(page).to_have_url(re.compile(f"metric={key.replace('/', '%2F')}(&|$)"))
    for link in ("tokens", "method", "cell"):
        curves.get_by_role("link", name=link, exact=True).click()
        expect(curves.get_by_role("link", name=link, exact=True)).to_have_attribute("aria-current", "true")
        expect(metric).to_have_value("kl")
        assert "metric=kl" in page.url
    assert "x=tokens" in page.url and "group=" not in page.url


def check_offer(page: Page) -> None:
    """Check that an offered metric replaces a selected metric without values."""
    Series.objects.filter(key="reward/mean").delete()
    page.get_by_role("combobox", name="Metric", exact=True).select_option("reward/mean")
    expect(page.get_by_text("The runs of this sweep ended without values of reward/mean.")).to_be_visible()
    page.locator("#results").get_by_role("link", name="kl", exact=True).click()
    expect(page.get_by_role("combobox", name="Metric", exact=True)).to_have_value("kl")


def test_values_lines_and_rows_of_cells_are_highlighted_together(
    signed_in, address: str, finished_sweep: Sweep
) -> None:
    page = signed_in
    page.goto(f"{address}{finished_sweep.get_absolute_url()}")
    check_pressed_values(page)
    # A line and a row of a cell.
    row = page.locator("tr[data-cell='2']")
    row.get_by_role("link", name="Compare").focus()
    expect(page.locator(".cell-line.is-lit")).to_have_attribute("data-cell", "2")
    row.hover()
    expect(page.locator(".is-lit")).to_have_count(2)


def check_pressed_values(page: Page) -> None:
    """Check that pressed values highlight lines, and stay pressed after a refresh."""
    highlighted = page.locator(".cell-line:not(.is-out)")
    low = page.get_by_role("button", name="sigma 0.01: 2 cells")
    few = page.get_by_role("button", name="population 4: 2 cells")
    expect(highlighted).to_have_count(4)
    low.click()
    expect(low).to_have_attribute("aria-pressed", "true")
    expect(highlighted).to_have_count(2)
    few.press("Enter")
    expect(highlighted).to_have_count(1)
    expect(page.locator("[data-brush-status]")).to_have_text("1 of 4 lines")
    expect(page.locator("tr.is-out")).to_have_count(3)
    refresh(page)
    expect(highlighted).to_have_count(1)
    expect(few).to_be_focused()
    page.get_by_role("button", name="Clear").click()
    expect(highlighted).to_have_count(4)
    expect(page.get_by_role("button", name="Clear")).to_be_hidden()


def test_results_pass_axe_and_fit(signed_in, address: str, finished_sweep: Sweep, views: tuple[View, ...]) -> None:
    finished_sweep.runs.filter(cell={"es.sigma": 0.1, "es.population": 8}).delete()
    Series.objects.filter(run__in=finished_sweep.runs.filter(cell={"es.sigma": 0.1, "es.population": 4})).delete()
    signed_in.goto(f"{address}{finished_sweep.get_absolute_url()}")
    assert check_views(signed_in, views) == "{}"
    signed_in.get_by_role("button", name="sigma 0.01").click()
    assert check_views(signed_in, views) == "{}"


def test_cells_stay_named_while_a_narrow_table_scrolls(signed_in: Page, address: str, finished_sweep: Sweep) -> None:
    page = signed_in
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{address}{finished_sweep.get_absolute_url()}")
    table = page.get_by_role("region", name="Cells, scrolls sideways")
    names = table.locator("tbody").get_by_role("rowheader")
    expect(names).to_have_count(4)
    assert len(set(names.all_inner_texts())) == 4
    expect(names.filter(has_text="sigma=0.01, population=8")).to_have_count(1)
    names.first.scroll_into_view_if_needed()
    table.evaluate("box => box.scrollLeft = box.scrollWidth")
    expect(names.first).to_be_in_viewport(ratio=0.95)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
