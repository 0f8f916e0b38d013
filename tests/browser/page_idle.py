"""A page that has come to rest: looked at amid a change it is neither what it was nor what it will be."""

from __future__ import annotations

from playwright.sync_api import Page, TimeoutError

ASKS_NOTHING = "() => !document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling, .htmx-added')"
FITS = "width => document.documentElement.scrollWidth <= width"
OVER_THE_EDGE = """[...document.querySelectorAll("main *, header *")]
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
    .map((e) => e.outerHTML.slice(0, 120)).slice(0, 3).join(" ")"""


def at_rest(page: Page) -> None:
    """Waits until a page that follows runs is live, and has what it asks for once it is: every part."""
    page.wait_for_selector("live-run[data-state=live]")
    page.wait_for_load_state("networkidle")
    page.wait_for_function(ASKS_NOTHING)


def arrived(page: Page, where: str) -> None:
    """Waits until the page that a click leads to is there with all of its scripts: `where` is a glob of its address."""
    page.wait_for_url(where, wait_until="load")


def over_the_edge(page: Page, width: int) -> str:
    """What hangs over the edge of a window of this width; empty where all fits.

    Charts take a new width a moment after the window has it.
    """
    try:
        page.wait_for_function(FITS, arg=width)
    except TimeoutError:
        return page.evaluate(OVER_THE_EDGE) or "something outside of what is looked at"
    return ""
