"""The page of results of probes: keyboard use of heat maps, a tensor without scripts, and a phone."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from tests.runs.evaluation_runs import make_training
from tests.runs.full_runs import record
from tests.runs.probe_runs import make_probe_run, record_norms, reward_line


@pytest.fixture
def probes(experiment, runs_dir):
    es, grpo = make_training(experiment, "es"), make_training(experiment, "grpo", seed=1)
    run = make_probe_run(experiment, [es, grpo])
    record_norms(run, es)
    record_norms(run, grpo, value=4.0)
    record(run, [reward_line(es, grpo)])
    return reverse("probes", args=[experiment.pk])


def test_arrow_keys_move_between_named_cells_of_one_tab_stop(signed_in, address, probes):
    page = signed_in
    page.goto(f"{address}{probes}")
    check_cell(page)
    cells = page.locator("heat-map").first.locator("td > a, li > a")
    expect(page.locator("heat-map").first.locator("a[tabindex='0']")).to_have_count(1)
    cells.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    line = page.locator("heat-map output").first
    expect(line).to_contain_text("model.layers.1.mlp.up_proj.weight: 1, by chance 1")
    page.keyboard.press("ArrowDown")
    expect(line).to_contain_text("model.embed_tokens.weight")
    page.keyboard.press("Enter")
    expect(page.locator("#tensor h2")).to_have_text("model.embed_tokens.weight")


def check_cell(page):
    """Check that a cell is named by its tensor and that its sign is visible."""
    cell = page.get_by_role("link", name="model.layers.0.mlp.up_proj.weight: 4, by chance 1")
    expect(cell).to_have_count(1)
    assert cell.evaluate("node => getComputedStyle(node, '::before').content").startswith('"+"')


def test_heat_maps_scroll_inside_their_box_on_a_phone_and_a_line_chart_has_its_band(signed_in, address, probes):
    page = signed_in
    page.set_viewport_size({"width": 390, "height": 844})
    for query in ("", "?tensor=model.norm.weight", "?measure=interpolation/reward"):
        page.goto(f"{address}{probes}{query}")
        expect(page.locator("#measure-title")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == 390, query
    page.locator("#chart-reward").scroll_into_view_if_needed()
    expect(page.locator("#chart-reward .plot .scatterlayer .trace")).to_have_count(4)
    expect(page.locator("#chart-reward .plot .scatterlayer .fills path")).not_to_have_count(0)
