"""Where an answer differs from another, word by word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby

from rapidfuzz.distance import Indel

WORDS_AT_MOST = 2000
"""Of longer answers only so many words are compared: the time grows with the square of their number. difflib's grows
with its cube where words repeat, as those of a model do that hacks its reward."""


@dataclass(frozen=True)
class Piece:
    """Text that both hold (kept), only the other one (gone) or only this one (new)."""

    kind: str
    text: str


def pieces(base: str, answer: str) -> list[Piece]:
    """From `base` to `answer`: what is kept or new makes up the answer, what is kept or gone the base."""
    before, after = _words(base), _words(answer)
    found: list[Piece] = []
    for kind, changes in groupby(Indel.opcodes(before, after), key=lambda one: one.tag == "equal"):
        steps = list(changes)
        gone = "".join(before[steps[0].src_start : steps[-1].src_end])
        new = "".join(after[steps[0].dest_start : steps[-1].dest_end])
        found += [Piece("kept", new)] if kind else [Piece("gone", gone)] * bool(gone) + [Piece("new", new)] * bool(new)
    return found


def likeness(base: str, answer: str) -> float:
    """The share of words that both hold, from 0 to 1."""
    return Indel.normalized_similarity(_words(base), _words(answer))


def _words(text: str) -> list[str]:
    """Words with the space behind them, so that joined they are the text; the rest of a long one as a single word."""
    words = re.findall(r"\s+|\S+\s*", text)
    rest = "".join(words[WORDS_AT_MOST:])
    return [*words[:WORDS_AT_MOST], rest] if rest else words
