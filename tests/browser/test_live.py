import pytest
from django.urls import reverse
from playwright.sync_api import expect

from runs.metrics import live
from tests.browser.chart_readout import drawn_x, scroll_to_chart, wait_for_x
from tests.browser.page_idle import wait_until_idle
from tests.runs.attempt_records import answer
from tests.runs.full_runs import a_bit_of_everything, evaluation, make_run, record, two_engines
from tests.waiting import wait_until
from workers.records import Member, Metric, Population

MAX_WAIT_MS, POLL_MS = 15_000, 5_000
"""The longest time before a page opens its socket again, and the interval of polling without a socket."""
REFRESH_MS = "1000 * document.querySelector('#chart-reward live-chart').dataset.refreshSeconds"


@pytest.fixture
def run(experiment, runs_dir):
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    return run


@pytest.fixture
def open_page(signed_in, address, run):
    signed_in.goto(f"{address}{reverse('run-curves', args=[run.uid])}")
    signed_in.wait_for_selector("live-run[data-state=live]")
    scroll_to_chart(signed_in, "reward")
    return signed_in


def test_open_page_receives_new_points_keeps_its_zoom_and_has_no_gap_after_a_cut(open_page, run):
    check_reconnection(open_page, run)
    check_zoom(open_page, run)
    check_new_points(open_page, run)


def check_reconnection(open_page, run):
    """Check that a page that was cut off gets the points that came meanwhile, and opens a broken socket again."""
    assert drawn_x(open_page, "reward", "reward/mean") == [0, 5]
    open_page.evaluate("window.sameDocument = true")
    steps = [0, 5]
    for step in (10, 20):
        open_page.evaluate("document.querySelector('live-run').close()")
        record(run, [evaluation(step, -20.0)])
        record(run, [evaluation(step + 1, -20.0)])
        steps += [step, step + 1]
        open_page.evaluate("document.querySelector('live-run').open()")
        wait_for_x(open_page, "reward", "reward/mean", steps)
    open_page.evaluate("document.querySelector('live-run').socket.close()")
    record(run, [evaluation(30, -20.0)])
    wait_for_x(open_page, "reward", "reward/mean", [*steps, 30])
    open_page.wait_for_selector("live-run[data-state=live]")


def check_zoom(open_page, run):
    """Check that a zoom survives new points and a new figure."""
    open_page.evaluate("Plotly.relayout(document.querySelector('#chart-reward .plot'), {'xaxis.range': [1, 4]})")
    record(run, [evaluation(40, -25.0)])
    wait_for_x(open_page, "reward", "reward/mean", [0, 5, 10, 11, 20, 21, 30, 40])
    open_page.evaluate("document.querySelector('#chart-reward live-chart').refresh()")
    open_page.wait_for_function("() => document.querySelector('#chart-reward .summary').textContent.includes('−25')")
    assert open_page.evaluate("document.querySelector('#chart-reward .plot').layout.xaxis.range") == [1, 4]


def check_new_points(open_page, run):
    """Check that points arrive one after another, a new key gets its chart, and a step that comes again greys the old
    one, all without a reload."""
    record(run, [evaluation(50, -20.0)])
    wait_for_x(open_page, "reward", "reward/mean", [0, 5, 10, 11, 20, 21, 30, 40, 50])
    record(run, [evaluation(55, -10.0)])
    wait_for_x(open_page, "reward", "reward/mean", [0, 5, 10, 11, 20, 21, 30, 40, 50, 55])
    record(run, [Metric(6, {"train/entropy": 0.5})])
    open_page.wait_for_selector("#chart-train-entropy")
    record(run, [Metric(5, {"kl": 0.5})])
    scroll_to_chart(open_page, "kl")
    open_page.get_by_text("overwritten by a resume").first.wait_for()
    assert open_page.evaluate("window.sameDocument")


@pytest.mark.usefixtures("own_context")
def test_page_polls_when_sockets_fail(signed_in, address, run):
    page = signed_in
    page.add_init_script(
        "window.WebSocket = class { static OPEN = 1;"
        " constructor() { setTimeout(() => this.onclose({ code: 1006 })); } };"
    )
    page.clock.install()
    page.goto(f"{address}{reverse('run-curves', args=[run.uid])}")

    def is_away():
        page.clock.fast_forward(MAX_WAIT_MS)
        return page.locator("live-run[data-state=away]").count()

    wait_until(is_away, "the page to give up sockets")
    scroll_to_chart(page, "reward")
    record(run, [evaluation(10, -20.0)])
    page.clock.fast_forward(POLL_MS)
    page.wait_for_function("() => document.querySelector('#chart-reward .plot').data[0].x.length === 3")


@pytest.fixture
def open_tab(signed_in, address, run):
    """Return a function that opens the tab of a route, and waits until a change reaches it."""

    def open_tab(route):
        signed_in.goto(f"{address}{reverse(route, args=[run.uid])}")
        signed_in.wait_for_selector("live-run[data-state=live]")
        wait_until_idle(signed_in)
        return signed_in

    return open_tab


def test_open_tabs_follow_run(open_tab, run):
    check_responses(open_tab, run)
    check_population(open_tab, run)
    check_log_and_state(open_tab, run)


def check_responses(open_tab, run):
    """Check that responses appear, and that an earlier step can be read then."""
    open_page = open_tab("run-responses")
    record(run, [answer(10, "Barcelona"), answer(10, "Barcelona!", sample=1)])
    open_page.get_by_text("Barcelona", exact=True).wait_for()
    open_page.get_by_role("button", name="Previous step").click()
    open_page.wait_for_url("**/responses/?step=5*")
    open_page.locator("#responses").get_by_text("<script>alert(1)</script>").wait_for()


def check_population(open_tab, run):
    """Check that the population and the engines follow the run."""
    open_page = open_tab("run-weights")
    record(run, [Population(10, (Member(0, -3.0), Member(1, -1.0)))])
    open_page.get_by_text("At 10: n = 2, −3 to −1").wait_for()
    expect(open_page.locator("#engines .verdict-line")).to_contain_text("equal weights after step 5.")
    record(run, [two_engines(10)])
    expect(open_page.locator("#engines .verdict-line")).to_contain_text("equal weights after step 10.")


def check_log_and_state(open_tab, run):
    """Check that the log and the state follow the run."""
    open_page = open_tab("run-log")
    folder = run.newest_attempt().directory
    folder.mkdir(parents=True)
    (folder / "log.txt").write_text("a line of the log\n")
    live.publish_changed(run.uid, "log")
    open_page.get_by_text("a line of the log").wait_for()
    expect(open_page.locator("live-region")).to_contain_text(": running")
    run.attempts.update(state="succeeded")
    run.state = "succeeded"
    run.save()
    live.publish_changed(run.uid, "state")
    expect(open_page.locator("live-region")).to_contain_text(": succeeded")
    expect(open_page.get_by_role("button", name="Cancel run")).to_be_hidden()


def test_engines_appear_with_first_report(signed_in, address, experiment, runs_dir):
    run = make_run(experiment, seed=1)
    signed_in.goto(f"{address}{reverse('run-weights', args=[run.uid])}")
    signed_in.wait_for_selector("live-run[data-state=live]")
    expect(signed_in.locator("#engines")).to_have_count(0)
    record(run, [two_engines(1)])
    expect(signed_in.get_by_role("heading", name="Engines")).to_be_visible()
    expect(signed_in.locator("#engines tbody tr")).to_have_count(2)


@pytest.mark.usefixtures("own_context")
def test_experiment_page_follows_its_runs(signed_in, address, experiment, run):
    page = signed_in
    page.clock.install()
    page.goto(f"{address}{experiment.get_absolute_url()}")
    page.wait_for_selector("live-run[data-state=live]")
    scroll_to_chart(page, "reward")
    record(run, [evaluation(10, -3.25)])
    wait_for_x(page, "reward", "reward/mean", [0, 5, 10])
    page.get_by_role("cell", name="−3.25").wait_for()
    page.clock.fast_forward(page.evaluate(REFRESH_MS))
    page.get_by_text("rose from −45.9 to −3.25").wait_for()
