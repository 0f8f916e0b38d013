"""Whether a text mentions an answer as a word of its own: "8" is in "It is 8." and not in "18", "8.5" or "-8"."""

from __future__ import annotations

import functools
import re
import unicodedata

# Thai, Japanese, Chinese and Korean write words without spaces between them: beside them, any place is a word's edge.
LETTER = r"[^\W\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"

MOST_MARKS = 30
"""Combining marks on one letter; no writing needs more (Unicode Standard Annex 15, Stream-Safe Text Format)."""


def mentions(text: str, answer: str) -> bool:
    """True where `answer` stands in `text` as whole words, letter case aside. An empty answer is nowhere."""
    return bool(answer.strip()) and _pattern(_plain(answer.strip())).search(_plain(text)) is not None


def _plain(text: str) -> str:
    return text.casefold() if text.isascii() else unicodedata.normalize("NFKC", _stream_safe(text)).casefold()


def _stream_safe(text: str) -> str:
    """Without the marks that follow MOST_MARKS others: sorting them takes time quadratic in their number."""
    marks, kept = 0, []
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= MOST_MARKS:
            kept.append(character)
    return "".join(kept)


@functools.lru_cache(maxsize=4096)
def _pattern(answer: str) -> re.Pattern[str]:
    before, after = rf"(?<!{LETTER})", rf"(?!{LETTER})"
    if answer[0].isdigit():
        before += r"(?<!\d[.,])(?<!^[-\u2212])(?<!\s[-\u2212])"
    if answer[-1].isdigit():
        after += r"(?![.,]\d)"
    return re.compile(before + re.escape(answer) + after)
