"""Features of every page: the palette, keyboard shortcuts, a restored focus, and messages if a fetch failed."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from runs.models import Experiment
from tests.browser.page_idle import wait_until_idle
from tests.runs.attempt_records import answer
from tests.runs.full_runs import a_bit_of_everything, make_run, record


@pytest.fixture
def run(experiment, runs_dir):
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    return run


@pytest.fixture
def open_page(signed_in, address, run):
    signed_in.goto(f"{address}{reverse('run-curves', args=[run.uid])}")
    # An event before that would be answered by requests that the page sends in any case.
    wait_until_idle(signed_in)
    return signed_in


def test_keys_open_the_palette_are_ignored_in_fields_and_can_be_disabled(open_page, experiment, ada):
    check_reduced_motion(open_page)
    check_shortcuts(open_page)
    check_palette(open_page, ada)


def check_palette(open_page, ada):
    """Check that the palette opens an experiment by keyboard."""
    other = Experiment.objects.create(name="Countdown", owner=ada)
    open_page.keyboard.press("Control+k")
    field = open_page.get_by_role("combobox", name="Go to")
    expect(field).to_be_focused()
    expect(open_page.locator(".palette [role=option]").first).to_contain_text("Home")
    open_page.keyboard.type("co")
    # Three pages, then experiments of that name, the newest first.
    expect(open_page.locator(".palette [role=option]")).to_have_count(5)
    for _ in range(3):
        open_page.keyboard.press("ArrowDown")
    selected = open_page.locator(".palette [aria-selected=true]")
    expect(selected).to_contain_text("Countdown")
    expect(field).to_have_attribute("aria-activedescendant", selected.get_attribute("id"))
    open_page.keyboard.press("Enter")
    open_page.wait_for_url(f"**{other.get_absolute_url()}")


def check_shortcuts(open_page):
    """Check that single keys are ignored in fields and can be disabled."""
    open_page.keyboard.press("/")
    search = open_page.get_by_label("Find curves")
    expect(search).to_be_focused()
    open_page.keyboard.type("g/?")
    expect(search).to_have_value("g/?")
    search.blur()
    open_page.keyboard.press("?")
    keys = open_page.get_by_role("dialog", name="Keys")
    expect(keys).to_be_visible()
    keys.get_by_role("checkbox").uncheck()
    open_page.keyboard.press("Escape")
    open_page.reload()
    open_page.keyboard.press("?")
    expect(keys).to_be_hidden()
    open_page.get_by_role("button", name="Keys").click()
    expect(keys.get_by_role("checkbox")).not_to_be_checked()
    open_page.keyboard.press("Escape")


def check_reduced_motion(open_page):
    """Check that a preference for reduced motion disables animations."""
    # The sign that something is being fetched fades in.
    open_page.evaluate("document.querySelector('#state').classList.add('htmx-request')")
    for preference, moves in (("reduce", False), ("no-preference", True)):
        open_page.emulate_media(reduced_motion=preference)
        durations_ms = open_page.evaluate("document.getAnimations().map(a => a.effect.getComputedTiming().duration)")
        assert any(duration > 10 for duration in durations_ms) == moves
    open_page.emulate_media(reduced_motion="reduce")
    open_page.evaluate("document.querySelector('#state').classList.remove('htmx-request')")


def test_focus_is_restored_after_a_swap(open_page, run):
    record(run, [answer(10, "Madrid", prompt_id=f"p{i}", prompt=f"Question {i}?") for i in range(20)])
    open_page.get_by_role("link", name="Responses", exact=True).click()
    next_link = open_page.get_by_role("link", name="Next ▶")
    next_link.click()
    expect(open_page.get_by_text("2 of 3")).to_be_visible()
    expect(next_link).to_be_focused()
    next_link.click()
    expect(open_page.get_by_text("3 of 3")).to_be_visible()
    # The link is gone on the last page: the focus is on the part, not at the top of the page.
    expect(open_page.locator("#responses")).to_be_focused()


def test_dialog_opens_before_its_script_loads(page, signed_in, address, run, complaints):
    page.route("**/dialog-opener*.js", lambda route: route.abort())
    page.goto(f"{address}{run.get_absolute_url()}")
    page.get_by_role("button", name="Cancel run").click()
    expect(page.get_by_role("button", name="Cancel the run")).to_be_visible()
    complaints.clear()


def request_curves(page):
    page.evaluate("document.body.dispatchEvent(new CustomEvent('run-changed:keys'))")


def test_failed_fetch_is_reported_with_retry_or_a_way_to_sign_in(open_page, complaints):
    alert = open_page.get_by_role("alert")
    open_page.route("**/curves/**", lambda route: route.abort())
    request_curves(open_page)
    expect(alert.filter(has_text="the server does not answer")).to_be_visible()
    open_page.unroute("**/curves/**")
    open_page.route("**/curves/**", lambda route: route.fulfill(status=500, body="broken"))
    request_curves(open_page)
    expect(alert.filter(has_text="is out of date: the server answered 500")).to_be_visible()
    open_page.unroute("**/curves/**")
    sentence = "The database does not answer. Try again in a few seconds."
    response = {"status": 503, "content_type": "text/plain; charset=utf-8", "body": sentence}
    open_page.route("**/curves/**", lambda route: route.fulfill(**response))
    request_curves(open_page)
    expect(alert.filter(has_text=sentence)).to_be_visible()
    expect(open_page.locator("#chart-reward")).to_be_visible()
    open_page.unroute("**/curves/**")
    with open_page.expect_response("**/curves/**"):
        alert.get_by_role("button", name="Try again").click()
    expect(open_page.locator("request-errors")).to_be_hidden()
    complaints.clear()
    check_signed_out(open_page)


def check_signed_out(open_page):
    """Check that a user who is signed out can sign in without leaving the page."""
    open_page.context.clear_cookies(name="sessionid")
    request_curves(open_page)
    alert = open_page.locator("request-errors")
    expect(alert).to_contain_text("You are signed out")
    address = "/login/?next=" + open_page.evaluate("encodeURIComponent(location.pathname)")
    expect(alert.get_by_role("link", name="Sign in again")).to_have_attribute("href", address)
    expect(open_page.locator("#chart-reward")).to_be_visible()
