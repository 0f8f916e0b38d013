"""Wait until a page is idle: during a change it is neither in its old nor in its new state."""

from __future__ import annotations

from playwright.sync_api import Page, TimeoutError

NO_REQUEST_PENDING = "() => !document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling, .htmx-added')"
FITS = "width => document.documentElement.scrollWidth <= width"
OVERFLOWING_ELEMENTS = """[...document.querySelectorAll("main *, header *")]
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
    .map((e) => e.outerHTML.slice(0, 120)).slice(0, 3).join(" ")"""


def wait_until_idle(page: Page) -> None:
    """Wait until a page that follows runs is live and has loaded every part that it requests then."""
    page.wait_for_selector("live-run[data-state=live]")
    page.wait_for_load_state("networkidle")
    page.wait_for_function(NO_REQUEST_PENDING)


def wait_for_page(page: Page, url_pattern: str) -> None:
    """Wait until the page that a click leads to is loaded with its scripts. `url_pattern` is a glob of its address."""
    page.wait_for_url(url_pattern, wait_until="load")


def find_overflow(page: Page, width: int) -> str:
    """Return elements that overflow a window of this width; empty if all fit.

    Charts take a new width shortly after the window has it.
    """
    try:
        page.wait_for_function(FITS, arg=width)
    except TimeoutError:
        return page.evaluate(OVERFLOWING_ELEMENTS) or "something outside of what is looked at"
    return ""
