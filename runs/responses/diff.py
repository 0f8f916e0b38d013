"""Word-by-word differences between two responses, and the differences of any two lists of texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rapidfuzz.distance import Indel

MAX_WORDS = 2000
"""Words of a response that are compared: the time grows with the square of their number. difflib's time grows with the
cube if words repeat, as in responses of a model that hacks its reward."""


@dataclass(frozen=True)
class Piece:
    """A text that both responses hold (kept), only the base (gone) or only the response (new)."""

    kind: str
    text: str


def diff_pieces(base: str, answer: str) -> list[Piece]:
    """Return the pieces from `base` to `answer`: kept and new form the answer, kept and gone the base."""
    result: list[Piece] = []
    for is_equal, before, after in changed_blocks(_words(base), _words(answer)):
        gone, new = "".join(before), "".join(after)
        pieces = [Piece("gone", gone)] * bool(gone) + [Piece("new", new)] * bool(new)
        result += [Piece("kept", new)] if is_equal else pieces
    return result


def changed_blocks(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[bool, Sequence[str], Sequence[str]]]:
    """Yield (whether they are equal, texts of `before`, texts of `after`), in order, with as many equal as possible.

    The time grows with the product of both lengths: the caller limits them.
    """
    for is_equal, changes in groupby(Indel.opcodes(before, after), key=lambda opcode: opcode.tag == "equal"):
        steps = list(changes)
        yield is_equal, before[steps[0].src_start : steps[-1].src_end], after[steps[0].dest_start : steps[-1].dest_end]


def similarity(base: str, answer: str) -> float:
    """Return the share of words that both hold, from 0 to 1."""
    return Indel.normalized_similarity(_words(base), _words(answer))


def _words(text: str) -> list[str]:
    """Return words with their trailing space, which join to the text; the rest of a long text is a single word."""
    words = re.findall(r"\s+|\S+\s*", text)
    rest = "".join(words[MAX_WORDS:])
    return [*words[:MAX_WORDS], rest] if rest else words
