import pytest
from playwright.sync_api import expect

from tests.browser.chart_readout import scroll_to_chart
from tests.browser.conftest import PATIENCE_MS
from tests.browser.page_idle import wait_for_page
from tests.runs.full_runs import evaluation, make_run, record


@pytest.fixture
def runs(experiment):
    """Return one finished run of each method."""
    out = [make_run(experiment, name, 0, "succeeded") for name in ("es-tiny", "grpo-tiny")]
    for run in out:
        record(run, [evaluation(step, -40.0 + 3 * step) for step in range(0, 11, 2)])
    return out


def press(page, locator, key="Enter"):
    """Focus an element, as a user does with Tab, and press a key."""
    locator.focus()
    expect(locator).to_be_focused()
    page.keyboard.press(key)


def test_comparison_is_shared_with_stranger_by_keyboard(signed_in, browser, address, experiment, runs):
    page = signed_in
    page.goto(f"{address}{experiment.get_absolute_url()}")
    for run in runs:
        press(page, page.locator(f"input[name='run'][value='{run.uid}']"), "Space")
    press(page, page.get_by_role("button", name="Compare"))
    wait_for_page(page, "**/compare/**")
    page.get_by_text("2 of 2 selected runs shown").wait_for()
    press(page, page.get_by_role("link", name="Share"))
    press(page, page.get_by_label("one day"), "Space")
    press(page, page.get_by_role("button", name="Create link"))
    page.get_by_role("heading", name="Your link").wait_for()
    link = page.locator("#shared-link").text_content()

    stranger = browser.new_context().new_page()
    stranger.set_default_timeout(PATIENCE_MS)
    messages = []
    stranger.on(
        "console", lambda message: messages.append(message.text) if message.type in ("error", "warning") else None
    )
    stranger.goto(link)
    scroll_to_chart(stranger, "reward-mean")
    expect(stranger.get_by_role("heading", name="Comparison of 2 runs")).to_be_visible()
    expect(stranger.get_by_role("button", name="Sign out")).to_have_count(0)
    assert stranger.context.cookies() == []
    assert messages == []

    press(page, page.get_by_role("button", name="Revoke all my links"))
    page.get_by_text("Revoked all your links.").wait_for()
    stranger.reload()
    expect(stranger.get_by_text("This link is no longer valid")).to_be_visible()
    stranger.context.close()
