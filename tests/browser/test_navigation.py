"""The header: one row on every screen, with a menu on small ones that works by keyboard, finger and without scripts."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Locator, Page, expect

from runs.models import Experiment
from tests.browser.conftest import PATIENCE_MS

LINKS = ["Experiments", "Compare", "Judging", "Views", "Queue", "Costs"]
SMALLEST_TARGET_PX = 44
ROWS = """() => {
    const items = [...document.querySelectorAll(".bar :is(a, button)")].filter((item) => item.checkVisibility());
    const middles = items.map((item) => item.getBoundingClientRect()).map(({ top, bottom }) => (top + bottom) / 2);
    return Math.max(...middles) - Math.min(...middles) < 10 ? 1 : 2;
}"""
"""A script that returns whether the visible links and buttons of the header are in one row."""


def menu_button(page: Page) -> Locator:
    return page.get_by_role("button", name="Menu")


def links(page: Page) -> list[str]:
    """Return the texts of the visible main links."""
    return [link.inner_text() for link in page.get_by_role("navigation", name="Main").get_by_role("link").all()]


@pytest.fixture
def phone(signed_in: Page, address: str) -> Page:
    """Return the page of all experiments, as wide as a phone."""
    signed_in.set_viewport_size({"width": 390, "height": 844})
    signed_in.goto(f"{address}/experiments/")
    return signed_in


def test_header_is_one_row_on_every_screen(signed_in: Page, address: str) -> None:
    page = signed_in
    page.goto(f"{address}/experiments/")
    for width in (320, 390, 767, 768, 1024, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(ROWS) == 1, width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        expect(menu_button(page)).to_be_visible(visible=width < 768)
        assert links(page) == ([] if width < 768 else LINKS)


def test_menu_of_a_phone_opens_and_closes_and_its_targets_are_large(phone: Page) -> None:
    check_keyboard(phone)
    check_press_outside(phone)
    check_targets(phone)
    phone.keyboard.press("Escape")
    check_way_back(phone)
    # The search button opens the palette.
    phone.get_by_role("button", name="Go to").click()
    expect(phone.get_by_role("combobox", name="Go to")).to_be_focused()


def check_keyboard(phone: Page) -> None:
    """Check that the menu opens and closes by keyboard, and that the focus returns."""
    button = menu_button(phone)
    expect(button).to_have_attribute("aria-expanded", "false")
    button.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    phone.keyboard.press("Tab")
    expect(phone.get_by_role("link", name="Experiments").first).to_be_focused()
    phone.keyboard.press("Escape")
    expect(button).to_have_attribute("aria-expanded", "false")
    expect(button).to_be_focused()
    assert links(phone) == []


def check_press_outside(phone: Page) -> None:
    """Check that a press outside closes the menu."""
    menu_button(phone).click()
    phone.mouse.click(200, 800)
    expect(menu_button(phone)).to_have_attribute("aria-expanded", "false")
    assert links(phone) == []


def check_targets(phone: Page) -> None:
    """Check that everything in the header is a large target."""
    menu_button(phone).click()
    assert links(phone) == LINKS
    for item in phone.locator(".bar :is(a, button):visible").all():
        box = item.bounding_box()
        assert box and min(box["width"], box["height"]) >= SMALLEST_TARGET_PX, item.inner_text()
    for name in ("Settings", "Sign out", "Go to"):
        expect(
            phone.locator(".bar").get_by_role("button", name=name).or_(phone.get_by_role("link", name=name))
        ).to_be_visible()


def check_way_back(phone: Page) -> None:
    """Check that a page that was left shows a closed menu when the reader goes back."""
    menu_button(phone).click()
    phone.get_by_role("link", name="Queue").click()
    phone.wait_for_url("**/queue/")
    phone.go_back()
    expect(menu_button(phone)).to_have_attribute("aria-expanded", "false")
    assert links(phone) == []


def test_current_page_and_section_are_marked(phone: Page, address: str, experiment: Experiment) -> None:
    for path, name, mark in (
        ("/experiments/", "Experiments", "page"),
        (experiment.get_absolute_url(), "Experiments", "true"),
        ("/queue/", "Queue", "page"),
    ):
        phone.goto(f"{address}{path}")
        menu_button(phone).click()
        expect(phone.locator("#main-menu [aria-current]")).to_have_text(name)
        expect(phone.locator("#main-menu [aria-current]")).to_have_attribute("aria-current", mark)


def test_menu_works_without_scripts(browser: Browser, address: str, ada: User) -> None:
    client = Client()
    client.force_login(ada)
    context = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": address}])
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(f"{address}/experiments/")
    menu_button(page).click()
    page.get_by_role("link", name="Queue").click()
    page.wait_for_url("**/queue/")
    context.close()
