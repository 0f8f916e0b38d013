"""The queue by clicks: a queued run is held, released and moved, while the page is open."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from runs import launching
from runs.launching import reconcile
from runs.launching.run_names import sweep_run_name
from runs.models import Cluster, Experiment, Run
from tests.browser.page_idle import NO_REQUEST_PENDING, find_overflow, wait_until_idle
from tests.runs.full_runs import make_run
from tests.runs.launching.conftest import small  # noqa: F401
from tests.runs.local_cluster import Small, attempt_of, quicken, run_of
from tests.waiting import wait_until
from tests.workers.attempts import CHECKPOINTS

WHOLE_TEXT = """(element) => {
    const text = document.createRange();
    text.selectNodeContents(element);
    const { right } = element.getBoundingClientRect();
    return [...text.getClientRects()].every((line) => line.right <= right + 1);
}"""


def test_queued_run_is_held_released_and_moved(
    signed_in,
    address: str,
    experiment: Experiment,
    local: Cluster,
    small: Small,  # noqa: F811
) -> None:
    page = signed_in
    small.program = CHECKPOINTS
    east, west = (Cluster.objects.create(name=name, kind="local") for name in ("east", "far"))
    quicken(east)
    quicken(west)
    page.goto(f"{address}/queue/")
    expect(page.locator("#standing")).to_contain_text("No run is running.")
    expect(page.locator("#standing")).to_contain_text("No run is waiting")
    run, late = run_of(experiment, cores=2), run_of(experiment, cores=2)

    def tick() -> bool:
        return all([reconcile.reconcile_cluster(local), reconcile.reconcile_cluster(west)])

    wait_until(
        lambda: tick() and attempt_of(run).state == "running" and attempt_of(late).state == "queued",
        "the first run to run and the second to be queued",
    )
    tick()
    page.reload()
    waiting = page.get_by_role("region", name="Waiting")
    expect(waiting).to_contain_text("position 1 in the queue")
    page.get_by_role("button", name="Hold").click()
    page.get_by_text("is held and starts only").wait_for()
    wait_until(lambda: tick() and attempt_of(late).hold == "person", "the second run to be held")
    expect(waiting).to_contain_text("held until a user releases it", ignore_case=True)
    page.get_by_role("button", name="Release").click()
    expect(waiting).not_to_contain_text("held until a user releases it", ignore_case=True)
    expect(waiting).to_contain_text("small")
    wait_until_idle(page)
    target = page.get_by_role("combobox", name="Cluster to move")
    target.select_option("far")
    # A selection that is not sent yet stays while the queue changes.
    with page.expect_response("**/queue/standing/**"):
        page.evaluate("document.body.dispatchEvent(new CustomEvent('run-changed:state'))")
    page.wait_for_function(NO_REQUEST_PENDING)
    expect(target).to_have_value("far")
    page.get_by_role("button", name="Move").click()
    page.get_by_text("moves to far").wait_for()
    launching.request_cancel(run)
    wait_until(lambda: tick() and attempt_of(late).cluster == west, "the second run to move to far")
    assert attempt_of(late).n == 3


def test_runs_of_a_sweep_are_distinct_on_a_narrow_page(signed_in: Page, address: str, experiment: Experiment) -> None:
    names = [sweep_run_name({"es.sigma": s, "es.alpha": 0.01}, 0, "a sweep with a long name") for s in (0.01, 0.02)]
    for seed, name in enumerate(names):
        Run.objects.filter(pk=make_run(experiment, "es-tiny", seed, "queued").pk).update(name=name)
    signed_in.set_viewport_size({"width": 390, "height": 844})
    signed_in.goto(f"{address}/queue/")
    for name in names:
        link = signed_in.get_by_role("link", name=name, exact=True)
        expect(link).to_be_visible()
        assert link.evaluate(WHOLE_TEXT)
    assert find_overflow(signed_in, 390) == ""
