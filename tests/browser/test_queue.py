"""The queue by clicks: a queued run is held, released and moved, while the page is open."""

from __future__ import annotations

from playwright.sync_api import expect

from runs import launching
from runs.launching import reconcile
from runs.models import Cluster, Experiment
from tests.browser.page_idle import NO_REQUEST_PENDING, wait_until_idle
from tests.runs.launching.conftest import small  # noqa: F401
from tests.runs.local_cluster import Small, attempt_of, quicken, run_of
from tests.waiting import wait_until
from tests.workers.attempts import CHECKPOINTS


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
