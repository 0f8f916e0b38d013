"""A slow connection: what a reader types, selects and opens while a part of the page is refreshed stays as it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, Route, expect

from runs.models import Experiment, Run
from tests.browser.page_idle import NO_REQUEST_PENDING, wait_until_idle
from tests.runs.full_runs import make_run

LATENCY_MS, BYTES_PER_SECOND = 400, 125_000
LINES = 2000
RUNS, GROWN = re.compile(r"/experiments/[^/]+/runs/"), re.compile("grown=1")

SCROLL_UP = """box => new Promise((resolve) => {
    box.addEventListener("scroll", () => resolve(), { once: true });
    box.scrollTop = 300;
})"""
"""Scroll a box and wait for its event, by which the page notices it."""


@pytest.fixture
def slow_page(signed_in: Page) -> Page:
    """Return a page on a connection of 1 Mbit/s with a latency of 400 ms."""
    session = signed_in.context.new_cdp_session(signed_in)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", {
        "offline": False, "latency": LATENCY_MS, "downloadThroughput": BYTES_PER_SECOND,
        "uploadThroughput": BYTES_PER_SECOND,
    })  # fmt: skip
    return signed_in


@pytest.fixture
def log(experiment: Experiment, runs_dir: Path) -> Path:
    """Return the path of a running run's log."""
    attempt = make_run(experiment).newest_attempt()
    assert attempt is not None
    folder = attempt.directory
    folder.mkdir(parents=True)
    path = folder / "log.txt"
    path.write_text("".join(f"line {i}\n" for i in range(1, LINES + 1)))
    return path


@pytest.fixture
def log_page(slow_page: Page, address: str, experiment: Experiment, log: Path) -> Page:
    """Return the page with the log of the running run."""
    slow_page.goto(f"{address}{experiment.runs.get().get_absolute_url()}log/")
    wait_until_idle(slow_page)
    return slow_page


@pytest.fixture
def runs(experiment: Experiment, runs_dir: Path) -> list[Run]:
    return [make_run(experiment, seed=seed) for seed in range(5)]


@pytest.fixture
def table_page(slow_page: Page, address: str, experiment: Experiment, runs: list[Run]) -> Page:
    """Return the page with the table of five running runs; the newest is in the first row."""
    slow_page.goto(f"{address}{experiment.get_absolute_url()}")
    wait_until_idle(slow_page)
    return slow_page


def publish(page: Page, what: str) -> None:
    page.evaluate("what => document.body.dispatchEvent(new CustomEvent(`run-changed:${what}`))", what)


def hold_request(page: Page, url: re.Pattern[str], send: Callable[[], None]) -> Route:
    """Call `send` and return the route of the first request of this URL: it is held until the route is handled.

    Later requests are answered as usual.
    """
    held = list[Route]()
    page.route(url, lambda route: held.append(route), times=1)
    send()
    while not held:
        page.wait_for_function("true")
    return held[0]


def refresh(page: Page, during: Callable[[], None] = lambda: None) -> None:
    """Refresh the runs table, and call `during` after the request; its response comes once `during` has returned."""
    route = hold_request(page, RUNS, lambda: publish(page, "state"))
    during()
    with page.expect_response(RUNS):
        route.fallback()
    page.wait_for_function(NO_REQUEST_PENDING)


def wait_for_log(page: Page) -> None:
    page.wait_for_load_state("networkidle")
    page.wait_for_function(NO_REQUEST_PENDING)


def tick(page: Page, run: Run, *modifiers: Literal["Shift"]) -> None:
    page.get_by_role("checkbox", name=f"Select {run.name}").click(modifiers=modifiers)


def selected_runs(page: Page) -> set[str]:
    """Return the uids that a bulk action would send."""
    uids: list[str] = page.evaluate("new FormData(document.getElementById('bulk')).getAll('run')")
    assert len(uids) == len(set(uids))
    return set(uids)


def test_searches_and_growth_of_a_log_do_not_replace_each_other(log_page: Page, log: Path) -> None:
    check_growth_after_search(log_page)
    check_newest_search(log_page)
    log_page.get_by_role("link", name="End", exact=True).click()
    expect(log_page.locator("#log-text .line").last).to_have_text(f"line {LINES}\n")
    check_text_and_caret(log_page, log)


def check_growth_after_search(page: Page) -> None:
    """Check that growth that arrives after a search does not replace its result."""
    route = hold_request(page, GROWN, lambda: publish(page, "log"))
    page.get_by_label("Find", exact=True).fill("LINE 7")
    page.keyboard.press("Enter")
    expect(page.locator("#log-text .hit").first).to_have_text("line 7\n")
    route.continue_()
    wait_for_log(page)
    expect(page.locator("#log-text .hit").first).to_have_text("line 7\n")
    assert "log_find=LINE" in page.url


def check_newest_search(page: Page) -> None:
    """Check that the newest of two searches wins."""
    find = page.get_by_label("Find", exact=True)
    find.fill("line 9")
    route = hold_request(page, re.compile("log_find=line"), lambda: find.press("Enter"))
    find.fill("line 1234")
    find.press("Enter")
    expect(page.locator("#log-text .hit").first).to_have_text("line 1234\n")
    route.continue_()
    wait_for_log(page)
    expect(page.locator("#log-text .hit").first).to_have_text("line 1234\n")
    assert "1234" in page.url


def check_text_and_caret(page: Page, log: Path) -> None:
    """Check that the text and the caret stay while the log grows."""
    find = page.get_by_label("Find", exact=True)
    find.fill("line 12")
    find.press("Home")
    for number in (1, 2):
        with log.open("a") as file:
            file.write(f"grown {number}\n")
        route = hold_request(page, GROWN, lambda: publish(page, "log"))
        page.keyboard.type("x")
        route.continue_()
        expect(page.get_by_text(f"grown {number}\n", exact=False).first).to_be_attached()
    expect(find).to_be_focused()
    expect(find).to_have_value("xxline 12")
    assert find.evaluate("input => input.selectionStart") == 2


def test_growth_of_a_log_is_shown_and_does_not_disturb_its_reader(log_page: Page, log: Path) -> None:
    check_growth_during_refresh(log_page, log)
    check_reader(log_page, log)


def check_growth_during_refresh(page: Page, log: Path) -> None:
    """Check that growth during a refresh is shown too."""
    route = hold_request(page, GROWN, lambda: publish(page, "log"))
    response = route.fetch()
    with log.open("a") as file:
        file.write("early\n")
    publish(page, "log")
    route.fulfill(response=response)
    expect(page.locator("#log-text .line").last).to_have_text("early\n")


def check_reader(page: Page, log: Path) -> None:
    """Check that a reader who has scrolled up or selected text is not disturbed."""
    text = page.locator("#log-text")
    new_lines = page.get_by_role("button", name="Show new lines")
    expect(new_lines).to_be_hidden()
    route = hold_request(page, GROWN, lambda: publish(page, "log"))
    # The reader scrolls up before the response arrives.
    text.evaluate(SCROLL_UP)
    with log.open("a") as file:
        file.write("grown\n")
    route.continue_()
    expect(new_lines).to_be_visible()
    wait_for_log(page)
    assert text.evaluate("box => box.scrollTop") == 300
    new_lines.click()
    expect(page.locator("#log-text .line").last).to_have_text("grown\n")
    expect(new_lines).to_be_hidden()
    expect(text).to_be_focused()

    page.evaluate("getSelection().selectAllChildren(document.querySelector('#log-text .line:last-child'))")
    publish(page, "log")
    expect(new_lines).to_be_visible()
    assert page.evaluate("String(getSelection()).trim()") == "grown"
    with page.expect_response(GROWN):
        page.evaluate("getSelection().removeAllRanges()")


def test_selection_of_runs_survives_refreshes(table_page: Page, runs: list[Run]) -> None:
    check_ticks(table_page, runs)
    tick(table_page, runs[3])
    check_range_and_all(table_page, runs)
    check_run_that_leaves(table_page, runs)


def check_ticks(page: Page, runs: list[Run]) -> None:
    """Check that ticks that are made during a refresh stay."""
    tick(page, runs[0])
    refresh(page, during=lambda: tick(page, runs[3]))
    assert selected_runs(page) == {runs[0].uid, runs[3].uid}
    expect(page.get_by_text("2 selected")).to_be_visible()
    refresh(page, during=lambda: tick(page, runs[0]))
    assert selected_runs(page) == {runs[3].uid}
    expect(page.get_by_text("1 selected")).to_be_visible()
    expect(page.get_by_role("button", name="Archive")).to_be_enabled()


def check_range_and_all(page: Page, runs: list[Run]) -> None:
    """Check that a range, and all, are selected during a refresh."""
    every = page.get_by_label("Select all visible runs")
    tick(page, runs[3])
    refresh(page, during=lambda: tick(page, runs[1], "Shift"))
    assert selected_runs(page) == {run.uid for run in runs[1:4]}
    refresh(page)
    # The range begins at a row that the refresh has replaced.
    tick(page, runs[0], "Shift")
    assert selected_runs(page) == {run.uid for run in runs[:4]}
    expect(every).to_have_js_property("indeterminate", True)
    refresh(page, during=every.check)
    assert selected_runs(page) == {run.uid for run in runs}
    expect(every).to_be_checked()
    refresh(page, during=every.uncheck)
    assert selected_runs(page) == set()
    expect(page.get_by_text("None selected")).to_be_visible()


def check_run_that_leaves(page: Page, runs: list[Run]) -> None:
    """Check that a selected run that leaves the table stays selected."""
    tick(page, runs[0])
    tick(page, runs[4])
    Run.objects.filter(pk=runs[4].pk).update(archived_at=runs[4].created_at)
    refresh(page)
    expect(page.get_by_text("2 selected, 1 of them not shown")).to_be_visible()
    assert selected_runs(page) == {runs[0].uid, runs[4].uid}
    Run.objects.filter(pk=runs[4].pk).update(archived_at=None)
    refresh(page)
    expect(page.get_by_role("checkbox", name=f"Select {runs[4].name}")).to_be_checked()
    expect(page.get_by_text("2 selected", exact=True)).to_be_visible()

    Run.objects.filter(pk=runs[4].pk).update(archived_at=runs[4].created_at)
    refresh(page)
    every = page.get_by_label("Select all visible runs")
    every.check()
    every.uncheck()
    assert selected_runs(page) == set()


PART = """<p data-announce-key="part" hidden>The part.</p>
<form action="/x/">
  <input name="note" value="old">
  <input type="checkbox" name="tick" value="1">
</form>
<details><summary>More</summary>text</details>
<p>The run <b>is calm</b></p>
<div class="scroll" tabindex="0" aria-label="Wide"><div class="wide">wide</div></div>"""


def test_any_refreshed_part_keeps_text_choices_details_scroll_and_selection(table_page: Page) -> None:
    """The part stands for those that have fields: the swap of the runs table gets a page of its own."""
    page = table_page
    page.add_style_tag(content="#runs-now .wide { width: 400rem; }")
    page.route(RUNS, lambda route: route.fulfill(body=PART, content_type="text/html"))
    refresh(page)
    part = page.locator("#runs-now")

    def use() -> None:
        part.locator("[name=note]").fill("typed")
        part.locator("[name=note]").press("Home")
        part.get_by_text("More").click()
        part.locator("[name=tick]").check()
        part.locator("[name=note]").focus()
        part.locator(".scroll").evaluate("box => box.scrollLeft = 120")
        page.evaluate("getSelection().selectAllChildren(document.querySelector('#runs-now b'))")

    refresh(page, during=use)
    refresh(page)
    expect(part.locator("[name=note]")).to_have_value("typed")
    expect(part.locator("[name=tick]")).to_be_checked()
    expect(part.locator("details")).to_have_attribute("open", "")
    assert part.locator(".scroll").evaluate("box => box.scrollLeft") == 120
    assert page.evaluate("String(getSelection())") == "is calm"
