"""What every page offers: the palette, keys, a kept focus, and words where something could not be fetched."""

import pytest
from playwright.sync_api import expect

from runs.models import Experiment
from tests.browser.page_idle import at_rest
from tests.runs.attempt_records import answer
from tests.runs.full_runs import a_bit_of_everything, make_run, record


@pytest.fixture
def run(experiment, runs_dir):
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    return run


@pytest.fixture
def open_page(signed_in, address, run):
    signed_in.goto(f"{address}{run.get_absolute_url()}")
    # What is told before would be answered by what the page asks for in any case.
    at_rest(signed_in)
    return signed_in


def test_the_palette_goes_to_an_experiment_by_keyboard_alone(open_page, experiment, ada):
    other = Experiment.objects.create(name="Countdown", owner=ada)
    open_page.keyboard.press("Control+k")
    field = open_page.get_by_role("combobox", name="Go to")
    expect(field).to_be_focused()
    expect(open_page.locator(".palette [role=option]").first).to_contain_text("Home")
    open_page.keyboard.type("co")
    # Two pages, then what is called so, the newest first.
    expect(open_page.locator(".palette [role=option]")).to_have_count(4)
    open_page.keyboard.press("ArrowDown")
    open_page.keyboard.press("ArrowDown")
    chosen = open_page.locator(".palette [aria-selected=true]")
    expect(chosen).to_contain_text("Countdown")
    expect(field).to_have_attribute("aria-activedescendant", chosen.get_attribute("id"))
    open_page.keyboard.press("Enter")
    open_page.wait_for_url(f"**{other.get_absolute_url()}")


def test_single_keys_are_letters_in_a_field_and_a_box_switches_them_off(open_page):
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


def test_focus_stays_where_the_reader_was_when_a_part_is_swapped(open_page, run):
    record(run, [answer(10, "Madrid", prompt_id=f"p{i}", prompt=f"Question {i}?") for i in range(20)])
    following = open_page.get_by_role("link", name="Next ▶")
    following.click()
    expect(open_page.get_by_text("2 of 3")).to_be_visible()
    expect(following).to_be_focused()
    following.click()
    expect(open_page.get_by_text("3 of 3")).to_be_visible()
    # The link is gone on the last page: the focus is on the part, not at the top of the page.
    expect(open_page.locator("#responses")).to_be_focused()


def test_a_dialog_opens_before_its_script_has_come(page, signed_in, address, run, complaints):
    page.route("**/dialog-opener*.js", lambda route: route.abort())
    page.goto(f"{address}{run.get_absolute_url()}")
    page.get_by_role("button", name="Cancel run").click()
    expect(page.get_by_role("button", name="Cancel the run")).to_be_visible()
    complaints.clear()


def ask_for_curves(page):
    page.evaluate("document.body.dispatchEvent(new CustomEvent('run-changed:keys'))")


def test_a_part_that_could_not_be_fetched_is_said_and_can_be_asked_for_again(open_page, complaints):
    trouble = open_page.get_by_role("alert")
    open_page.route("**/curves/**", lambda route: route.abort())
    ask_for_curves(open_page)
    expect(trouble.filter(has_text="the server does not answer")).to_be_visible()
    open_page.unroute("**/curves/**")
    open_page.route("**/curves/**", lambda route: route.fulfill(status=500, body="broken"))
    ask_for_curves(open_page)
    expect(trouble.filter(has_text="is not up to date: the server answered 500")).to_be_visible()
    open_page.unroute("**/curves/**")
    sentence = "The database does not answer. Try again in a few seconds."
    away = {"status": 503, "content_type": "text/plain; charset=utf-8", "body": sentence}
    open_page.route("**/curves/**", lambda route: route.fulfill(**away))
    ask_for_curves(open_page)
    expect(trouble.filter(has_text=sentence)).to_be_visible()
    expect(open_page.locator("#chart-reward")).to_be_visible()
    open_page.unroute("**/curves/**")
    with open_page.expect_response("**/curves/**"):
        trouble.get_by_role("button", name="Try again").click()
    expect(open_page.locator("request-troubles")).to_be_hidden()
    complaints.clear()


def test_who_was_signed_out_meanwhile_is_offered_to_sign_in_and_the_page_stays(open_page):
    open_page.context.clear_cookies(name="sessionid")
    ask_for_curves(open_page)
    trouble = open_page.locator("request-troubles")
    expect(trouble).to_contain_text("You are signed out")
    address = "/login/?next=" + open_page.evaluate("encodeURIComponent(location.pathname)")
    expect(trouble.get_by_role("link", name="Sign in again")).to_have_attribute("href", address)
    expect(open_page.locator("#chart-reward")).to_be_visible()


def test_who_wants_no_motion_gets_none(open_page):
    # The sign that something is being fetched fades in.
    open_page.evaluate("document.querySelector('#state').classList.add('htmx-request')")
    for wish, moves in (("reduce", False), ("no-preference", True)):
        open_page.emulate_media(reduced_motion=wish)
        durations_ms = open_page.evaluate("document.getAnimations().map(a => a.effect.getComputedTiming().duration)")
        assert any(duration > 10 for duration in durations_ms) == moves
