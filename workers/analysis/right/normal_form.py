"""The normal form in which answers are compared: NFKC, one case, plain quotes and signs, no markup."""

from __future__ import annotations

import re
import unicodedata

MAX_CHARACTERS = 20_000
"""Characters of a response, a question or an expected answer that are read: the last ones of a response, where it
commits to an answer, and the first ones of the others."""
MAX_MARKS = 30
"""Combining marks on one letter; no writing needs more (Unicode Standard Annex 15, Stream-Safe Text Format)."""
THOUSANDS = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
"""A space that only typesetters use between groups of three digits; NFKC makes a common space of it."""
MARKUP = re.compile(r"\*\*|__|`|\$|\\[()\[\]]|\\text(?:bf)?\{|\\times\b|</?(?:b|i|em|strong|p|br|code|u)\s?/?>", re.I)
SIGNS = str.maketrans({
    "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201b": "'", "\u00b4": "'", "\u201c": '"', "\u201d": '"',
    "\u201e": '"', "\u00ab": '"', "\u00bb": '"', "\u2212": "-", "\u2010": "-", "\u2011": "-", "\u2012": "-",
    "\u00b7": "×", "\u22c5": "×", "\u2217": "×", "\u2013": "-", "\u2014": ";", "\u2026": ".", "\r": "\n", "□": " ",
})  # fmt: skip
ZERO_WIDTH = re.compile("[\u200b-\u200f\u2060\ufeff\u00ad]")


def normal_form(text: str) -> str:
    """Return the text in normal form; line ends stay."""
    if not text.isascii():
        text = ZERO_WIDTH.sub("", THOUSANDS.sub("", text))
    # A dash becomes a semicolon before NFKC, and an ellipsis a full stop.
    return casefolded(MARKUP.sub(lambda mark: "×" if "times" in mark[0] else "", text.translate(SIGNS)))


def casefolded(text: str) -> str:
    """Return the text in NFKC and one case."""
    return text.casefold() if text.isascii() else unicodedata.normalize("NFKC", _stream_safe(text)).casefold()


def without_accents(text: str) -> str:
    """Return the text without combining marks: arbol for árbol."""
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


def _stream_safe(text: str) -> str:
    """Drop the marks that follow MAX_MARKS others: sorting them takes time quadratic in their number."""
    marks, characters = 0, []
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= MAX_MARKS:
            characters.append(character)
    return "".join(characters)
