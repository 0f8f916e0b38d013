"""A printed page is light in any theme and has no controls."""

from playwright.sync_api import Page, expect

from runs.models import Experiment
from tests.runs.many_runs import crowd


def test_dark_page_prints_light_then_returns_to_dark(
    signed_in: Page, address: str, experiment: Experiment, complaints: list[str]
) -> None:
    crowd(experiment, 4)
    page = signed_in
    page.goto(address + experiment.get_absolute_url())
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    expect(page.get_by_role("heading", name=experiment.name)).to_be_visible()
    expect(page.locator("header.bar")).to_be_hidden()
    expect(page.get_by_role("link", name="Launch runs")).to_be_hidden()
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert complaints == []
