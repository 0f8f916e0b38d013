"""Where an answer differs from another, word by word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

WORDS_AT_MOST = 2000
"""Of longer answers only so many words are compared: the time grows with the square of their number."""


@dataclass(frozen=True)
class Piece:
    """Text that both hold (kept), only the other one (gone) or only this one (new)."""

    kind: str
    text: str


def pieces(base: str, answer: str) -> list[Piece]:
    """From `base` to `answer`: what is kept or new makes up the answer, what is kept or gone the base."""
    before, after = _words(base), _words(answer)
    found: list[Piece] = []
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            found.append(Piece("kept", "".join(after[c:d])))
            continue
        found += [Piece("gone", "".join(before[a:b]))] * (b > a) + [Piece("new", "".join(after[c:d]))] * (d > c)
    return found


def _words(text: str) -> list[str]:
    """Words with the space behind them, so that joined they are the text; the rest of a long one as a single word."""
    words = re.findall(r"\s+|\S+\s*", text)
    rest = "".join(words[WORDS_AT_MOST:])
    return [*words[:WORDS_AT_MOST], rest] if rest else words
