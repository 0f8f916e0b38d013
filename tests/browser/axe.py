"""What axe finds on an open page and what hangs over its edge: in light and dark, wide and narrow."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page

from tests.browser.page_idle import over_the_edge

AXE = (Path(__file__).parent / "vendor" / "axe-4.14.1.min.js").read_text(encoding="utf-8")
COLOUR_RULES = ("color-contrast", "link-in-text-block")
"""The rules whose outcome depends on the theme."""
WIDE, NARROW, HEIGHT = 1440, 390, 900
LOOKS = 3
Rules = Literal["all", "colours", "all but colours"]
Theme = Literal["light", "dark"]
CHECK = """async ([rules, colours, scope]) => {
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
"""Runs the rules that may find a serious fault: axe gives all faults of a rule the same impact."""


@dataclass(frozen=True)
class View:
    """How a page is looked at, and the rules that it is checked with."""

    theme: Theme
    width: int
    rules: Rules

    def __str__(self) -> str:
        return f"{self.theme}, {self.width} px"


VIEWS = (View("light", NARROW, "all but colours"), View("light", WIDE, "all"), View("dark", WIDE, "colours"))
"""A narrow page shows nothing that a wide one does not, in the same colours."""


def find_faults(page: Page, rules: Rules = "all", scope: str = "html") -> list[list[object]]:
    """Return the serious faults within `scope`, a selector: the rule and the first elements that break it.

    A real fault is found again: what is not was part of the page that a refresh replaced during the check.
    """
    for _ in range(LOOKS):
        if not (faults := _find_faults_once(page, rules, scope)):
            break
    return faults


def _find_faults_once(page: Page, rules: Rules, scope: str) -> list[list[object]]:
    page.wait_for_load_state()
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE)
    return page.evaluate(CHECK, [rules, COLOUR_RULES, scope])


def prefer_theme(page: Page, theme: Theme) -> None:
    """Let the system ask for a theme."""
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")


def choose_theme(page: Page, theme: Theme) -> None:
    """Choose a theme on the page and let the system ask for the other one: the person's choice must win everywhere."""
    prefer_theme(page, "dark" if theme == "light" else "light")
    page.context.add_cookies([{"name": "theme", "value": theme, "url": page.url}])
    page.evaluate(
        "theme => { document.documentElement.dataset.theme = theme;"
        " document.dispatchEvent(new CustomEvent('theme-changed')) }",
        theme,
    )


def check_views(page: Page, set_theme: Callable[[Page, Theme], None] = prefer_theme, scope: str = "html") -> str:
    """Return as JSON what is wrong with the open page in which view; "{}" if nothing is.

    The first view is the one in which the page before was left: each change makes all charts draw again.
    """
    is_narrow = page.viewport_size is not None and page.viewport_size["width"] == NARROW
    wrong = {}
    for view in VIEWS if is_narrow else reversed(VIEWS):
        set_theme(page, view.theme)
        page.set_viewport_size({"width": view.width, "height": HEIGHT})
        found = over_the_edge(page, view.width), find_faults(page, view.rules, scope)
        if any(found):
            wrong[str(view)] = found
    return json.dumps(wrong, indent=1)
