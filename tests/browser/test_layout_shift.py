"""Pages stay where they are while they load, on a fast connection and on a slow one."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import CDPSession, Page

from judging.boards import save_board
from runs.access import Scope, link_text
from runs.models import Experiment, Sweep
from tests.browser.page_idle import NO_REQUEST_PENDING
from tests.browser.test_every_page import make_run_sweep
from tests.judging.bulk_verdicts import cast, first_votes
from tests.judging.synthetic_votes import make_random_votes
from tests.judging.tournament_factory import make_tournament, rubric
from tests.runs.full_runs import a_bit_of_everything, record
from tests.runs.many_runs import crowd

MAX_SHIFT = 0.02
"""Sum of all layout shifts of a page while it loads; 0.1 is what web.dev calls good."""
SLOW = {"offline": False, "latency": 400, "downloadThroughput": 125_000, "uploadThroughput": 125_000}
OBSERVE = """
window.shifts = [];
new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries()) {
        if (hadRecentInput) continue;
        const moved = sources.map(({ node }) => (node?.outerHTML ?? String(node?.textContent)).slice(0, 100));
        shifts.push({ value, moved });
    }
}).observe({ type: "layout-shift", buffered: true });
"""
READ = """async () => {
    const frame = () => new Promise(requestAnimationFrame);
    await document.fonts.ready;
    await frame();
    await frame();
    return shifts;
}"""


@pytest.fixture
def paths(ada: User, experiment: Experiment) -> dict[str, str]:
    """Return page name -> path of main pages, filled with runs, responses, a sweep and verdicts."""
    runs = crowd(experiment, 6)
    make_run_sweep(experiment, runs)
    record(runs[0], a_bit_of_everything())
    record(runs[1], a_bit_of_everything())
    tournament = make_tournament(ada, experiment, prompts=24, contestants=5)
    cast(tournament, rubric("helpfulness"), first_votes(make_random_votes(600, contestants=5, prompts=24)))
    save_board(tournament, rubric("helpfulness"))
    both = f"run={runs[0].uid}&run={runs[1].uid}"
    return {
        "home": "/", "experiment": experiment.get_absolute_url(),
        "compare": f"{reverse('compare')}?{both}", "compare, grouped": f"{reverse('compare')}?{both}&group=method",
        "viewer": f"{reverse('viewer')}?{both}", "sweep": Sweep.objects.get().get_absolute_url(),
        "run": runs[0].get_absolute_url(), "curves": reverse("run-curves", args=[runs[0].uid]),
        "launch": reverse("launch", args=[experiment.pk]), "queue": reverse("queue"),
        "leaderboard": reverse("tournament-board", args=[tournament.pk]),
        "shared experiment": reverse("shared", args=[link_text(ada, Scope.EXPERIMENT, [experiment.pk], "day")]),
        "shared run": reverse("shared", args=[link_text(ada, Scope.RUN, [runs[0].uid], "day")]),
    }  # fmt: skip


@pytest.fixture
def connection(signed_in: Page) -> CDPSession:
    """Return a session that sets the speed of the page's connection. Every page is loaded without a cache."""
    session = signed_in.context.new_cdp_session(signed_in)
    session.send("Network.enable")
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    signed_in.add_init_script(OBSERVE)
    return session


def find_moved_pages(page: Page, address: str, paths: dict[str, str], width: int) -> dict[str, list[str]]:
    """Return page name -> its layout shifts and what they move, for pages that move more than MAX_SHIFT."""
    page.set_viewport_size({"width": width, "height": 900})
    moved = {}
    for name, path in paths.items():
        page.goto(address + path, wait_until="networkidle")
        page.wait_for_function(NO_REQUEST_PENDING)
        shifts = page.evaluate(READ)
        if sum(shift["value"] for shift in shifts) > MAX_SHIFT:
            moved[name] = [f"{shift['value']:.3f} {' '.join(shift['moved'])}" for shift in shifts]
    return moved


@pytest.mark.parametrize("width", [390, 1440])
def test_pages_do_not_move_while_they_load(
    signed_in: Page, address: str, paths: dict[str, str], connection: CDPSession, width: int
) -> None:
    assert find_moved_pages(signed_in, address, paths, width) == {}


def test_pages_do_not_move_on_a_slow_connection(
    signed_in: Page, address: str, paths: dict[str, str], connection: CDPSession
) -> None:
    connection.send("Network.emulateNetworkConditions", SLOW)
    names = ("home", "experiment", "compare, grouped", "viewer", "sweep", "shared experiment")
    assert find_moved_pages(signed_in, address, {name: paths[name] for name in names}, 390) == {}
