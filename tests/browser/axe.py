"""Check an open page with axe and for overflow: in light and dark, wide and narrow."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from django.conf import settings
from playwright.sync_api import Page

from tests.browser.page_idle import find_overflow

AXE = Path(__file__).parent / "vendor" / "axe-4.14.1.min.js"
COLOUR_RULES = ("color-contrast", "link-in-text-block")
"""Rules whose outcome depends on the theme."""
WIDE, NARROW, HEIGHT = 1440, 390, 900
MAX_ATTEMPTS = 3
Rules = Literal["all", "colours", "all but colours"]
Theme = Literal["light", "dark"]
CHECK = """async ([source, rules, colours, scope]) => {
  if (!window.axe) {
    const script = Object.assign(document.createElement("script"), { src: source });
    await new Promise((onload, onerror) => {
      document.head.append(Object.assign(script, { onload, onerror }));
    });
  }
  // A colour amid its change from light to dark is neither, and no fault of the page.
  const changes = document.getAnimations().filter((a) => Number.isFinite(a.effect.getComputedTiming().endTime));
  await Promise.all(changes.map((animation) => animation.finished.catch(() => null)));
  const isSerious = ({ impact }) => ["serious", "critical"].includes(impact);
  const isWanted = (rule) => isSerious(rule) && (rules === "all" || !colours.includes(rule.id));
  const rest = axe._audit.rules.filter((rule) => !isWanted(rule));
  const chosen = rules === "colours"
    ? { runOnly: { type: "rule", values: colours } }
    : { rules: Object.fromEntries(rest.map(({ id }) => [id, { enabled: false }])) };
  const { violations } = await axe.run(scope, { resultTypes: ["violations"], ...chosen });
  const serious = violations.filter(isSerious);
  return serious.map(({ id, nodes }) => [id, nodes.slice(0, 3).map(({ html }) => html.slice(0, 200))]);
}"""
"""A script that runs the rules that may find a serious fault: axe gives all faults of a rule the same impact.

The page loads axe from its own site: the browser then keeps it compiled for the next page.
"""


@dataclass(frozen=True)
class View:
    """A theme and a width of a page, and the rules that it is checked with."""

    theme: Theme
    width: int
    rules: Rules

    def __str__(self) -> str:
        return f"{self.theme}, {self.width} px"


VIEWS = (View("light", NARROW, "all but colours"), View("light", WIDE, "all"), View("dark", WIDE, "colours"))
"""A narrow page shows nothing that a wide one does not, in the same colours."""
ONE_VIEW = View("dark", NARROW, "all")
"""The view of a state of a page in `make test`. Pages as they are opened are checked in light colours and wide."""


def find_axe_faults(page: Page, rules: Rules = "all", scope: str = "html") -> list[list[object]]:
    """Return the serious faults within `scope`, a selector: the rule and the first elements that break it.

    A real fault is found again: what is not was part of the page that a refresh replaced during the check.
    """
    for _ in range(MAX_ATTEMPTS):
        if not (faults := _find_axe_faults_once(page, rules, scope)):
            break
    return faults


def _find_axe_faults_once(page: Page, rules: Rules, scope: str) -> list[list[object]]:
    page.wait_for_load_state()
    return page.evaluate(CHECK, [settings.STATIC_URL + AXE.name, rules, COLOUR_RULES, scope])


def prefer_theme(page: Page, theme: Theme) -> None:
    """Set the theme that the system prefers."""
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")


def choose_theme(page: Page, theme: Theme) -> None:
    """Choose a theme on the page while the system prefers the other one: the user's choice must win everywhere."""
    prefer_theme(page, "dark" if theme == "light" else "light")
    page.context.add_cookies([{"name": "theme", "value": theme, "url": page.url}])
    page.evaluate(
        "theme => { document.documentElement.dataset.theme = theme;"
        " document.dispatchEvent(new CustomEvent('theme-changed')) }",
        theme,
    )


def check_views(
    page: Page,
    views: Sequence[View],
    set_theme: Callable[[Page, Theme], None] = prefer_theme,
    scope: str = "html",
) -> str:
    """Return as JSON what is wrong with the open page in which view; "{}" if nothing is.

    The first view is the one in which the page before was left: each change makes all charts draw again.
    """
    is_narrow = page.viewport_size is not None and page.viewport_size["width"] == NARROW
    faults_by_view = {}
    for view in views if is_narrow else reversed(views):
        set_theme(page, view.theme)
        page.set_viewport_size({"width": view.width, "height": HEIGHT})
        faults = find_overflow(page, view.width), find_axe_faults(page, view.rules, scope)
        if any(faults):
            faults_by_view[str(view)] = faults
    return json.dumps(faults_by_view, indent=1)
