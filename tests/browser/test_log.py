import pytest
from django.urls import reverse
from playwright.sync_api import expect

from tests.browser.page_idle import wait_until_idle
from tests.runs.full_runs import make_run


@pytest.fixture
def log(experiment, runs_dir):
    """Return the path of a running run's log, of two thousand lines."""
    folder = make_run(experiment).newest_attempt().directory
    folder.mkdir(parents=True)
    path = folder / "log.txt"
    path.write_text("".join(f"line {i}\n" for i in range(1, 2001)))
    return path


@pytest.fixture
def open_page(signed_in, address, experiment, log):
    signed_in.goto(f"{address}{reverse('run-log', args=[experiment.runs.get().uid])}")
    # An event before that would be answered by requests that the page sends in any case.
    wait_until_idle(signed_in)
    return signed_in


def publish_growth(page):
    with page.expect_response("**/log/**"):
        page.evaluate("document.body.dispatchEvent(new CustomEvent('run-changed:log'))")


def test_log_is_followed_and_what_is_searched_selected_and_wrapped_survives_reload(open_page, log):
    check_growth(open_page, log)
    check_search(open_page)
    check_selection(open_page)


def check_growth(open_page, log):
    """Check that the end of the log is followed while it grows."""
    expect(open_page.locator("#log-text .line").last).to_have_text("line 2000\n")
    with log.open("a") as file:
        file.write("\x1b[32mline 2001\x1b[0m\n")
    publish_growth(open_page)
    expect(open_page.locator("#log-text .ansi-green")).to_have_text("line 2001")
    below = "e => e.scrollHeight - e.scrollTop - e.clientHeight"
    open_page.wait_for_function(f"() => ({below})(document.querySelector('#log-text')) < 2")


def check_search(open_page):
    """Check that the hit of a search survives a reload, and that the end is a link away."""
    open_page.get_by_label("Find", exact=True).fill("LINE 7")
    open_page.keyboard.press("Enter")
    expect(open_page.locator("#log-text .hit").first).to_have_text("line 7\n")
    open_page.get_by_role("link", name="Next match").click()
    expect(open_page.locator("#log-text .hit").first).to_have_text("line 700\n")
    expect(open_page.locator("#log-next-hit")).to_be_focused()
    open_page.reload()
    expect(open_page.locator("#log-text .hit").first).to_have_text("line 700\n")
    open_page.get_by_role("link", name="End", exact=True).click()
    expect(open_page.locator("#log-text .line").last).to_have_text("line 2001\n")


def check_selection(open_page):
    """Check that the selected line and wrapping survive a reload."""
    wrap = open_page.get_by_role("button", name="Wrap lines")
    expect(open_page.locator("#log-text")).to_have_css("white-space", "pre-wrap")
    wrap.press("Enter")
    expect(open_page.locator("#log-text")).to_have_css("white-space", "pre")
    publish_growth(open_page)
    open_page.get_by_label("Line", exact=True).fill("1234")
    open_page.keyboard.press("Enter")
    expect(open_page.locator("#log-text .line").first).to_have_text("line 1234\n")
    expect(open_page.get_by_text("Lines 1234–1733 of a log")).to_be_visible()
    open_page.reload()
    expect(open_page.locator("#log-text .line").first).to_have_text("line 1234\n")
    expect(wrap).to_have_attribute("aria-pressed", "false")
