"""A live page fetches its parts repeatedly: it does not replace a button while it is pressed."""

from functools import partial

from playwright.sync_api import expect

from tests.runs.full_runs import a_bit_of_everything, make_run, record


def test_press_counts_as_click_when_part_is_refreshed(signed_in, address, experiment, runs_dir):
    page = signed_in
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    page.goto(f"{address}{run.get_absolute_url()}")
    page.wait_for_selector("live-run[data-state=live]")
    page.wait_for_load_state("networkidle")
    button, dialog = page.get_by_role("button", name="Cancel run"), page.get_by_role("dialog")
    presses = ((page.mouse.down, page.mouse.up), (partial(page.keyboard.down, " "), partial(page.keyboard.up, " ")))
    for press, release in presses:
        button.hover()
        button.focus()
        press()
        with page.expect_response("**/state/"):
            page.evaluate("document.body.dispatchEvent(new CustomEvent('run-changed:state'))")
        expect(page.locator("#state.htmx-request, #state.htmx-swapping, #state.htmx-settling")).to_have_count(0)
        with page.expect_response("**/state/"):
            release()
        expect(dialog).to_be_visible()
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
