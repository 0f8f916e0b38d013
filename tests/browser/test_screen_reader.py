"""What a screen reader is given of a run's page: Chromium's own accessibility tree."""

from itertools import pairwise

import pytest
from playwright.sync_api import expect

from runs.metrics import live
from tests.browser.chart_readout import look_at
from tests.browser.page_idle import ASKS_NOTHING, at_rest
from tests.runs.full_runs import a_bit_of_everything, evaluation, make_run, record

SHARE = "90\N{NARROW NO-BREAK SPACE}%"
STANDING = (
    "es-tiny seed 0 is running, step 5 of 60. Held-out reward −40.9, from −45.9. "
    f"Accuracy {SHARE}, from {SHARE}. KL, nats per token 0.0500, from 0."
)
QUIET_SECONDS = 20


class Tree:
    """The nodes that are not left out, in the order in which they are read."""

    def __init__(self, page):
        nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
        self.by_id = {node["nodeId"]: node for node in nodes}
        self.nodes = self.below(nodes[0])

    def below(self, node):
        children = [self.by_id[i] for i in node.get("childIds", []) if i in self.by_id]
        return [one for child in children for one in ([] if child["ignored"] else [child]) + self.below(child)]

    def find(self, role, among=None):
        return [node for node in among or self.nodes if node["role"]["value"] == role]

    def text(self, node):
        return " ".join(name(one) for one in self.below(node) if one["role"]["value"] == "StaticText")


def name(node):
    return node.get("name", {}).get("value", "")


def value(node, wanted):
    return next((p["value"].get("value") for p in node["properties"] if p["name"] == wanted), None)


@pytest.fixture
def run(experiment, runs_dir):
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    return run


@pytest.fixture
def open_page(signed_in, address, run):
    signed_in.goto(f"{address}{run.get_absolute_url()}")
    look_at(signed_in, "reward")
    at_rest(signed_in)
    return signed_in


def change_state(run, state):
    run.attempts.update(state=state)
    type(run).objects.filter(pk=run.pk).update(state=state)
    live.publish_changed(run.uid, "state")


def test_a_run_is_an_outline_with_its_state_in_words_and_a_region_for_each_chart(open_page):
    check_state(open_page)
    check_outline(open_page)
    check_charts(open_page)


def check_state(page):
    """Check that state, last reward and KL are said in words."""
    tree = Tree(page)
    told = [region for region in tree.find("status") if tree.text(region) == STANDING]
    assert [(value(region, "live"), value(region, "atomic")) for region in told] == [("polite", True)]


def check_outline(page):
    """Check that headings form an outline."""
    headings = Tree(page).find("heading")
    levels = [value(heading, "level") for heading in headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert [name(heading) for heading in headings if value(heading, "level") == 2] == [
        "State", "Curves", "Population of each iteration", "Engines", "Responses", "Collapse", "Attempts",
        "Checkpoints", "Config", "Log",
    ]  # fmt: skip
    assert all(after - before <= 1 for before, after in pairwise(levels))


def check_charts(page):
    """Check that each chart is a region of words and numbers, without loose pictures."""
    page.locator("#chart-reward").get_by_text("Numbers", exact=True).press("Enter")
    page.locator("#chart-reward").get_by_role("columnheader", name="value").wait_for()
    tree = Tree(page)
    headings = page.locator(".chart:visible :is(h2, h4)").all_text_contents()
    charts = [region for region in tree.find("region") if name(region) in headings]
    assert len(charts) == len(headings) > 4
    for chart in charts:
        inside = tree.below(chart)
        assert [name(h) for h in tree.find("heading", inside)] == [name(chart)]
        assert tree.text(tree.find("paragraph", inside)[0]).endswith(".")
        assert "Numbers" in [name(one) for one in tree.find("DisclosureTriangle", inside)]
        assert tree.find("image", inside) + tree.find("SvgRoot", inside) == []
    reward = tree.below(charts[0])
    cells = [name(cell) for cell in tree.find("cell", reward)]
    assert cells[5:10] == ["reward/mean", "5", "−40.90", "", "greedy"]


def test_only_a_change_of_state_is_told_and_by_the_region_that_was_there_before(open_page, run):
    region = open_page.locator("said-aloud").element_handle()
    open_page.evaluate(
        "new MutationObserver(() => (window.told = true))"
        ".observe(document.querySelector('said-aloud'), { childList: true, characterData: true, subtree: true })"
    )
    with open_page.expect_response("**/state/"):
        open_page.evaluate("document.body.dispatchEvent(new CustomEvent('run-changed:state'))")
    open_page.wait_for_function(ASKS_NOTHING)
    assert open_page.evaluate("window.told") is None
    change_state(run, "succeeded")
    open_page.wait_for_function("region => region.textContent.includes('is succeeded')", arg=region)
    assert region.evaluate("region => region.isConnected")


def test_new_numbers_are_told_but_not_each_time_that_they_come(signed_in, address, run):
    signed_in.clock.install()
    signed_in.goto(f"{address}{run.get_absolute_url()}")
    signed_in.wait_for_selector("live-run[data-state=live]")
    region = signed_in.locator("said-aloud")
    expect(region).to_have_text(STANDING)
    before_ms = region.evaluate("region => region.saidAt")
    record(run, [evaluation(10, -20.0)])
    expect(signed_in.locator(".tiles").get_by_role("link", name="−20")).to_be_visible()
    signed_in.clock.fast_forward(1000 * QUIET_SECONDS)
    expect(region).to_contain_text("step 10 of 60. Held-out reward −20, from −45.9.")
    # By the page's clock: on a slow machine the quiet may be over before the number is there. A timer drops fractions.
    assert region.evaluate("region => region.saidAt") - before_ms >= 1000 * QUIET_SECONDS - 2


def test_an_experiments_page_tells_how_many_runs_are_in_which_state_when_that_changes(signed_in, address, run):
    make_run(run.experiment, seed=1, state="node_lost")
    signed_in.goto(f"{address}{run.experiment.get_absolute_url()}")
    signed_in.wait_for_selector("live-run[data-state=live]")
    region = signed_in.get_by_role("status").filter(has_text="Runs: ")
    expect(region).to_have_count(0)
    change_state(run, "succeeded")
    expect(region).to_have_text("Runs: 1 node lost, 1 succeeded.")
