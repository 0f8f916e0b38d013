"""Text form of a chart layout, as addresses and the database hold it: `kl:wide:pinned`, `reward:at3`, `own:kl,kl/k3`.

A card is a chart's name, followed by words that `:` separates: a size, `pinned`, and `at` with a position. The
characters `:` and `%` of a name are percent-encoded. A name that starts with `own:` describes a chart of a user's own
(`runs.charts.own`). Charts without a card have their default size and order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import unquote

from django.utils.translation import gettext

from runs.charts.own import MAX_KEY_LENGTH, PREFIX, InvalidChart, OwnChart, read_own

SIZES = ("small", "medium", "wide")
PINNED = "pinned"
POSITION = re.compile(r"at([1-9][0-9]{0,3})", re.ASCII)
MAX_CARDS = 60
MAX_CHARACTERS = 6000
"""Limit of a whole layout, so that the address of a page with it stays short enough to open and to save."""
NAME_ESCAPES = str.maketrans({"%": "%25", ":": "%3A"})
ESCAPED_PREFIX = f"%{ord(PREFIX[0]):02X}{PREFIX[1:]}"


@dataclass(frozen=True)
class Card:
    """The settings of one chart that differ from the default.

    name: the chart's name. own: the chart, if it is one of a user's own; its name is `name`. size: one of SIZES, or
    empty for the page's default. position: from 1, among the charts of its grid that are not pinned; None for the
    default order. Pinned charts come first, in the order of their cards.
    """

    name: str
    size: str = ""
    is_pinned: bool = False
    position: int | None = None
    own: OwnChart | None = None

    @property
    def code(self) -> str:
        """Return the name as the text form writes it."""
        return self.name if self.own else escape_name(self.name)

    @property
    def text(self) -> str:
        """Return the text form; `parse_card` reads it."""
        position = f"at{self.position}" if self.position is not None else ""
        return ":".join(filter(None, [self.code, self.size, PINNED * self.is_pinned, position]))


def escape_name(name: str) -> str:
    """Return the name of a chart of the page, as the text form writes it."""
    return ESCAPED_PREFIX if name == PREFIX else name.translate(NAME_ESCAPES)


def own_card(chart: OwnChart) -> Card:
    """Return a card of a user's own chart, of default size, at the end of the page's charts."""
    return Card(chart.name, own=chart)


def parse_card(text: str) -> Card:
    """Return the card of a text form. Raise InvalidChart, whose message names the valid words."""
    parts = text.split(":")
    if parts[0] == PREFIX:
        chart = read_own(":".join(parts[:2]))
        return _with_words(own_card(chart), parts[2:])
    name = unquote(parts[0])
    if not 1 <= len(name) <= MAX_KEY_LENGTH or "\x00" in name:
        message = gettext("The name of a chart must have 1 to %(n)s characters, none of them NUL.")
        raise InvalidChart(message % {"n": MAX_KEY_LENGTH})
    if not parts[1:]:
        message = gettext("%(name)s must be followed by %(words)s.")
        raise InvalidChart(message % {"name": name, "words": _valid_words()})
    return _with_words(Card(name), parts[1:])


def _with_words(card: Card, words: Iterable[str]) -> Card:
    for word in words:
        if word in SIZES:
            card = replace(card, size=word)
        elif word == PINNED:
            card = replace(card, is_pinned=True)
        elif match := POSITION.fullmatch(word):
            card = replace(card, position=int(match[1]))
        else:
            message = gettext("%(word)r is not a setting of a chart; write %(words)s.")
            raise InvalidChart(message % {"word": word[:50], "words": _valid_words()})
    return card


def _valid_words() -> str:
    return ", ".join(f":{word}" for word in (*SIZES, PINNED)) + gettext(", or :at1 for position 1")


def parse_cards(texts: Iterable[str]) -> tuple[tuple[Card, ...], tuple[str, ...]]:
    """Return the cards of these texts, each chart once, and a sentence for each text that was skipped.

    Empty texts are skipped without a sentence: in an address, they select the default layout.
    """
    cards: dict[str, Card] = {}
    problems: list[str] = []
    length = 0
    for text in filter(None, texts):
        length += len(text) + 1
        if len(cards) == MAX_CARDS or length > MAX_CHARACTERS:
            message = gettext("charts: at most %(cards)s charts with %(n)s characters; the others are ignored.")
            problems.append(message % {"cards": MAX_CARDS, "n": MAX_CHARACTERS})
            break
        try:
            card = parse_card(text)
        except InvalidChart as problem:
            problems.append(f"charts: {problem}")
            continue
        if card.code in cards:
            message = gettext("charts: %(name)s is listed twice; the first entry applies.")
            problems.append(message % {"name": card.name[:100]})
        cards.setdefault(card.code, card)
    return tuple(cards.values()), tuple(problems)
