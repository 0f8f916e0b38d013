"""A run's page for screen readers, as in Chromium's accessibility tree."""

from itertools import pairwise

import pytest
from playwright.sync_api import expect

from runs.metrics import live
from tests.browser.chart_readout import scroll_to_chart
from tests.browser.page_idle import NO_REQUEST_PENDING, wait_until_idle
from tests.runs.full_runs import a_bit_of_everything, evaluation, make_run, record

SHARE = "90\N{NARROW NO-BREAK SPACE}%"
STATUS_TEXT = (
    "es-tiny seed 0: running, step 5 of 60. Held-out reward −40.9, from −45.9. "
    f"Accuracy {SHARE}, from {SHARE}. KL, nats per token 0.0500, from 0."
)
QUIET_SECONDS = 20


class Tree:
    """The nodes that are not ignored, in the order in which they are read."""

    def __init__(self, page):
        nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
        self.by_id = {node["nodeId"]: node for node in nodes}
        self.nodes = self.below(nodes[0])

    def below(self, node):
        children = [self.by_id[i] for i in node.get("childIds", []) if i in self.by_id]
        return [node for child in children for node in ([] if child["ignored"] else [child]) + self.below(child)]

    def find(self, role, nodes=None):
        return [node for node in nodes or self.nodes if node["role"]["value"] == role]

    def text(self, node):
        return " ".join(name(child) for child in self.below(node) if child["role"]["value"] == "StaticText")


def name(node):
    return node.get("name", {}).get("value", "")


def value(node, property_name):
    return next((p["value"].get("value") for p in node["properties"] if p["name"] == property_name), None)


@pytest.fixture
def run(experiment, runs_dir):
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    return run


@pytest.fixture
def open_page(signed_in, address, run):
    signed_in.goto(f"{address}{run.get_absolute_url()}")
    scroll_to_chart(signed_in, "reward")
    wait_until_idle(signed_in)
    return signed_in


def change_state(run, state):
    run.attempts.update(state=state)
    type(run).objects.filter(pk=run.pk).update(state=state)
    live.publish_changed(run.uid, "state")


def test_run_page_has_outline_status_chart_regions_and_announces_only_state_changes(open_page, run):
    check_state(open_page)
    check_outline(open_page)
    check_charts(open_page)
    check_announcements(open_page, run)
    check_silence(open_page)


def check_state(page):
    """Check that a status region states the run's state, last reward and KL."""
    tree = Tree(page)
    regions = [region for region in tree.find("status") if tree.text(region) == STATUS_TEXT]
    assert [(value(region, "live"), value(region, "atomic")) for region in regions] == [("polite", True)]


def check_outline(page):
    """Check that headings form an outline."""
    headings = Tree(page).find("heading")
    levels = [value(heading, "level") for heading in headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert [name(heading) for heading in headings if value(heading, "level") == 2] == [
        "State", "Reward and gold", "Curves", "Audit of the reward", "Settings that differ from the defaults",
    ]  # fmt: skip
    assert all(after - before <= 1 for before, after in pairwise(levels))


def check_charts(page):
    """Check that each chart is a region of words and numbers, without loose pictures."""
    page.locator("#chart-reward").get_by_text("Numbers", exact=True).press("Enter")
    page.locator("#chart-reward").get_by_role("columnheader", name="value").wait_for()
    tree = Tree(page)
    headings = page.locator(".chart:visible h3").all_text_contents()
    charts = [region for region in tree.find("region") if name(region) in headings]
    assert len(charts) == len(headings) == 5
    for chart in charts:
        inside = tree.below(chart)
        assert [name(h) for h in tree.find("heading", inside)] == [name(chart)]
        assert tree.text(tree.find("paragraph", inside)[0]).endswith(".")
        assert "Numbers" in [name(triangle) for triangle in tree.find("DisclosureTriangle", inside)]
        assert tree.find("image", inside) + tree.find("SvgRoot", inside) == []
    reward = tree.below(next(chart for chart in charts if name(chart) == "Reward"))
    cells = [name(cell) for cell in tree.find("cell", reward)]
    assert cells[5:10] == ["reward/mean", "5", "−40.90", "", "greedy"]


def check_announcements(open_page, run):
    """Check that the existing live region announces changes of the state and nothing else."""
    region = open_page.locator("live-region").element_handle()
    open_page.evaluate(
        "new MutationObserver(() => (window.told = true))"
        ".observe(document.querySelector('live-region'), { childList: true, characterData: true, subtree: true })"
    )
    with open_page.expect_response("**/state/"):
        open_page.evaluate("document.body.dispatchEvent(new CustomEvent('run-changed:state'))")
    open_page.wait_for_function(NO_REQUEST_PENDING)
    assert open_page.evaluate("window.told") is None
    change_state(run, "succeeded")
    open_page.wait_for_function("region => region.textContent.includes(': succeeded')", arg=region)
    assert region.evaluate("region => region.isConnected")


def check_silence(open_page):
    """Check that the live region is silent while its part has no text to announce."""
    region = open_page.locator("live-region")
    before = region.text_content()
    replace = """text => {
        const state = document.getElementById("state");
        state.innerHTML = text;
        state.dispatchEvent(new CustomEvent("htmx:afterSettle", { bubbles: true }));
    }"""
    open_page.evaluate(replace, "<p>Nothing</p>")
    # The part loses its text again before the announcement of the text.
    open_page.evaluate(f"""() => {{
        const replace = {replace};
        replace('<p data-announce-key="queued" hidden>Queued again</p>');
        document.getElementById("state").innerHTML = "";
    }}""")
    open_page.evaluate("() => new Promise((resolve) => setTimeout(resolve, 100))")
    assert region.text_content() == before
    open_page.evaluate(replace, '<p data-announce-key="lost" hidden>Lost</p>')
    expect(region).to_have_text("Lost")


@pytest.mark.usefixtures("own_context")
def test_new_numbers_are_announced_after_quiet_period(signed_in, address, run):
    signed_in.clock.install()
    signed_in.goto(f"{address}{run.get_absolute_url()}")
    signed_in.wait_for_selector("live-run[data-state=live]")
    region = signed_in.locator("live-region")
    expect(region).to_have_text(STATUS_TEXT)
    before_ms = region.evaluate("region => region.announcedAt")
    record(run, [evaluation(10, -20.0)])
    expect(signed_in.locator(".tiles").get_by_role("link", name="−20")).to_be_visible()
    signed_in.clock.fast_forward(1000 * QUIET_SECONDS)
    expect(region).to_contain_text("step 10 of 60. Held-out reward −20, from −45.9.")
    # By the page's clock: on a slow machine the quiet may be over before the number is there. A timer drops fractions.
    assert region.evaluate("region => region.announcedAt") - before_ms >= 1000 * QUIET_SECONDS - 2


def test_experiment_page_announces_changed_state_counts(signed_in, address, run):
    make_run(run.experiment, seed=1, state="node_lost")
    signed_in.goto(f"{address}{run.experiment.get_absolute_url()}")
    signed_in.wait_for_selector("live-run[data-state=live]")
    region = signed_in.get_by_role("status").filter(has_text="Runs: ")
    expect(region).to_have_count(0)
    change_state(run, "succeeded")
    expect(region).to_have_text("Runs: 1 node lost, 1 succeeded.")
