import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from tests.browser.chart_readout import scroll_to_chart, wait_for_x
from tests.browser.page_idle import wait_until_idle
from tests.runs.full_runs import a_bit_of_everything, make_run, record
from workers.records import Metric


@pytest.fixture
def open_page(signed_in, address, experiment, runs_dir):
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    signed_in.goto(f"{address}{reverse('run-curves', args=[run.uid])}")
    wait_until_idle(signed_in)
    return signed_in


def visible_headings(page):
    return page.locator("#curve-wall .chart:visible :is(h2, h4)")


def test_folds_and_search_of_curves_and_settings_survive_reload_and_reach_the_next_launch(open_page):
    check_folded_sections(open_page)
    check_search(open_page)
    check_changed_setting(open_page)


def check_search(open_page):
    """Check that the search of curves is in the address, as a regular expression."""
    before = visible_headings(open_page).all_text_contents()
    # An invalid regular expression hides nothing.
    open_page.get_by_label("Find curves").fill("kl(")
    expect(open_page.locator("page-filter[for=curve-wall] [role=status]")).to_contain_text("Invalid regular expression")
    expect(visible_headings(open_page)).to_have_text(before)
    open_page.get_by_label("Find curves").fill("^kl|step_seconds")
    expect(open_page.locator("page-filter[for=curve-wall] [role=status]")).to_have_text("2 of 6 shown")
    expect(visible_headings(open_page)).to_have_text(["KL from the base model", "Seconds per step"])
    open_page.reload()
    expect(open_page.get_by_label("Find curves")).to_have_value("^kl|step_seconds")
    expect(visible_headings(open_page)).to_have_text(["KL from the base model", "Seconds per step"])
    # Another axis is another page; the search goes with it.
    open_page.get_by_role("link", name="tokens").click()
    expect(open_page.get_by_label("Find curves")).to_have_value("^kl|step_seconds")


def check_folded_sections(open_page):
    """Check that folded sections stay folded, also with new curves."""
    open_page.locator("details[data-slug=training] > summary").press("Enter")
    expect(open_page).to_have_url(re.compile("folded=training"))
    with open_page.expect_response("**/curves/**"):
        open_page.evaluate("document.body.dispatchEvent(new CustomEvent('run-changed:keys'))")
    expect(open_page.locator("details[data-slug=training]")).not_to_have_attribute("open", "")
    open_page.reload()
    expect(open_page.locator("details[data-slug=training]")).not_to_have_attribute("open", "")
    expect(open_page.locator("details[data-slug=held-out]")).to_have_attribute("open", "")
    open_page.locator("details[data-slug=training] > summary").click()
    expect(open_page).not_to_have_url(re.compile("folded"))


def check_changed_setting(open_page):
    """Check that a setting is searched and changed for the next launch."""
    open_page.get_by_role("link", name="Config", exact=True).click()
    open_page.get_by_label("Find settings").fill("sigma")
    expect(open_page.locator("#config-knobs tr:visible th")).to_have_text(["sigma"])
    open_page.get_by_label("Launch again with").select_option("es.sigma")
    open_page.get_by_label("set to", exact=True).fill("0.5")
    open_page.keyboard.press("Enter")
    expect(open_page.locator("[name='es.sigma']")).to_have_value("0.5")


def test_charts_are_drawn_when_scrolled_into_view(signed_in, address, experiment, runs_dir):
    page, run = signed_in, make_run(experiment)
    record(run, [Metric(step, {f"layer{i:02d}/norm": float(step * i) for i in range(40)}) for step in range(3)])
    page.goto(f"{address}{reverse('run-curves', args=[run.uid])}")
    last = page.locator("#chart-layer39-norm")
    expect(last).to_contain_text("Loads when it is visible.")
    scroll_to_chart(page, "layer39-norm")
    expect(last).to_contain_text("Rose from 0 to 78.")
    expect(page.locator("#chart-layer25-norm")).to_contain_text("Loads when it is visible.")
    record(run, [Metric(3, {"layer39/norm": 100.0})])
    wait_for_x(page, "layer39-norm", "layer39/norm", [0, 1, 2, 3])
    page.get_by_label("Find curves").fill("layer25")
    expect(page.locator("#chart-layer25-norm")).to_contain_text("Rose from 0 to 50.")
