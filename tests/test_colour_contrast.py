"""Contrast by WCAG 2.2 AA, of the tokens themselves: text 4.5 : 1 on each of its surfaces, lines and edges 3 : 1."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

from tests.cases import each_case

TOKENS = (Path(__file__).parent.parent / "static" / "css" / "tokens.css").read_text(encoding="utf-8")
PAIR = re.compile(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);")
THEMES = ("light", "dark")
COLOURS = {
    theme: {name: pair[n] for name, *pair in PAIR.findall(TOKENS)} for n, theme in enumerate(THEMES)
}  # fmt: skip
SURFACES = ("surface-1", "surface-2")
TEXT = ("ink", "ink-2", "accent", "accent-strong", "good", "bad", "warn", "busy", "idle", "cyan")
LINES = ("es", "grpo", "other", "focus", "line-strong")


def luminance(colour: str) -> float:
    """Return the relative luminance of #rrggbb (WCAG 2.2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(colour: str, other: str) -> float:
    """Return the contrast of two colours, from 1 (equal) to 21 (black on white)."""
    darker, lighter = sorted((luminance(colour), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_matches_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@each_case("theme, surface, name", product(THEMES, [*SURFACES, "surface-3"], ["ink", "ink-2"]))
def test_text_is_readable_on_every_surface(theme: str, surface: str, name: str) -> None:
    assert contrast(COLOURS[theme][name], COLOURS[theme][surface]) >= 4.5


@each_case("theme, surface, name", product(THEMES, SURFACES, TEXT))
def test_coloured_text_is_readable_on_its_surfaces(theme: str, surface: str, name: str) -> None:
    assert contrast(COLOURS[theme][name], COLOURS[theme][surface]) >= 4.5


@each_case("theme, name", product(THEMES, LINES))
def test_lines_and_edges_have_contrast(theme: str, name: str) -> None:
    assert all(contrast(COLOURS[theme][name], COLOURS[theme][surface]) >= 3 for surface in SURFACES)


@pytest.mark.parametrize("theme", THEMES)
def test_main_button_text_is_readable(theme: str) -> None:
    for background in ("accent", "accent-strong"):
        assert contrast(COLOURS[theme]["on-accent"], COLOURS[theme][background]) >= 4.5
