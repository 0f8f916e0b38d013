"""Find an answer in a text as a word of its own: "8" is in "It is 8." and not in "18", "8.5" or "-8"."""

from __future__ import annotations

import functools
import re
import unicodedata

# Thai, Japanese, Chinese and Korean write no spaces between words, so next to their letters any position is a word's
# edge.
LETTER = r"[^\W\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"

MAX_MARKS = 30
"""Combining marks on one letter; no writing needs more (Unicode Standard Annex 15, Stream-Safe Text Format)."""


def mentions(text: str, answer: str) -> bool:
    """Return whether `answer` occurs in `text` as whole words, ignoring case. An empty answer occurs nowhere."""
    return bool(answer.strip()) and _pattern(_plain(answer.strip())).search(_plain(text)) is not None


def _plain(text: str) -> str:
    return text.casefold() if text.isascii() else unicodedata.normalize("NFKC", _stream_safe(text)).casefold()


def _stream_safe(text: str) -> str:
    """Drop the marks that follow MAX_MARKS others: sorting them takes time quadratic in their number."""
    marks, characters = 0, []
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= MAX_MARKS:
            characters.append(character)
    return "".join(characters)


@functools.lru_cache(maxsize=4096)
def _pattern(answer: str) -> re.Pattern[str]:
    before, after = rf"(?<!{LETTER})", rf"(?!{LETTER})"
    if answer[0].isdigit():
        before += r"(?<!\d[.,])(?<!^[-\u2212])(?<!\s[-\u2212])"
    if answer[-1].isdigit():
        after += r"(?![.,]\d)"
    return re.compile(before + re.escape(answer) + after)
