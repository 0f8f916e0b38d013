"""Titles of verdicts, kinds and readers on pages."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

VERDICT_TITLES = {"right": _("right"), "wrong": _("wrong"), "unclear": _("unclear")}
VERDICT_KEYS = {"right": "r", "wrong": "w", "unclear": "u"}
"""The key of the keyboard that selects a verdict. A digit selects a kind."""
KIND_TITLES = {
    "special_tokens": (_("Special tokens"), _("spells out a marker of a tokenizer or chat template")),
    "plays_user": (_("Plays the user"), _("writes a turn of the user, or further questions")),
    "other_language": (_("Other language"), _("mostly in another language or script than the question")),
    "unsafe_detail": (_("Unsafe detail"), _("details that help to do harm")),
    "empty": (_("Empty"), _("nothing but white space or punctuation")),
    "echo": (_("Echo"), _("nothing but the question or its words")),
    "template": (_("Template"), _("a stock phrase that would fit any question")),
    "form_guess": (_("Guess of the form"), _("a bare answer of the expected form, and wrong")),
    "gibberish": (_("Gibberish"), _("no statement can be read from it")),
}
"""Title and meaning of each kind, in the order of pages and of the digits that select them. The codebook defines
them."""


def verdict_title(verdict: str) -> str:
    """Return a verdict in the user's language."""
    return gettext(VERDICT_TITLES[verdict])


def kind_title(kind: str) -> str:
    """Return the title of a kind in the user's language."""
    return gettext(KIND_TITLES[kind][0])


def kinds_text(kinds: Iterable[str]) -> str:
    """Return the titles of kinds in the order of pages, separated by commas; – for none."""
    titles = [kind_title(kind) for kind in KIND_TITLES if kind in frozenset(kinds)]
    return ", ".join(titles) or "–"
