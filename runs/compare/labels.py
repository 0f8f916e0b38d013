"""Shorten names on a page to what differs between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

LONG_NAME = 24
"""Length up to which names stay whole: cutting them saves no room."""
SEPARATORS = (
    re.compile(r"(\s*[,;·|/]\s*|\s+)"),
    re.compile(r"(\s*[,;·|/]\s*|\s+|_|(?<=\w)(?<!\d[eE])-(?=\w))"),
)
"""Boundaries between words: first none inside of es-tiny, then also these. The hyphens of 1e-3 and -3 are none."""
NUMBER = re.compile(r"[\d.,eE+-]+")

Words = list[tuple[str, str, str]]
"""(separator before, word, separator after) of each word of a name."""


def distinct_names(names: Sequence[str]) -> list[str]:
    """Return the names without the words that all of them begin or end with, in the order given.

    Names that differ stay different, and none becomes empty. A number keeps the word before it: `seed 1`, not `1`.
    Names of at most LONG_NAME characters stay whole.
    """
    unique = list(dict.fromkeys(names))
    if len(unique) < 2 or max(map(len, unique)) <= LONG_NAME:
        return list(names)
    labels = unique
    for separator in SEPARATORS:
        texts = _cut([_words(name, separator) for name in unique])
        if all(texts) and len(set(texts)) == len(unique):
            labels = texts
        if max(map(len, labels)) <= LONG_NAME:
            break
    short = dict(zip(unique, labels, strict=True))
    return [short[name] for name in names]


def _words(name: str, separator: re.Pattern[str]) -> Words:
    parts = ["", *separator.split(name), ""]
    return [(parts[i - 1], parts[i], parts[i + 1]) for i in range(1, len(parts), 2)]


def _cut(names: Sequence[Words]) -> list[str]:
    """Return the texts without their common words; each keeps at least one word."""
    most = min(map(len, names)) - 1
    lead = min(most, _common([[(word, after) for _, word, after in words] for words in names]))
    trail = min(most - lead, _common([[(word, before) for before, word, _ in reversed(words)] for words in names]))
    texts = [_text(words[lead : len(words) - trail]) for words in names]
    if lead and any(NUMBER.fullmatch(text) for text in texts):
        return [_text(words[lead - 1 : len(words) - trail]) for words in names]
    return texts


def _common(names: Sequence[Sequence[tuple[str, str]]]) -> int:
    """Return the number of equal words at the beginning of all names."""
    return sum(1 for _ in takewhile(lambda words: len(set(words)) == 1, zip(*names, strict=False)))


def _text(words: Words) -> str:
    return "".join(word + after for _, word, after in words).removesuffix(words[-1][2]) if words else ""
