"""Measure how much a model repeats itself: distinct n-grams, compressibility, and how well its answers predict each
other.

The first two depend on the amount of text, so they are taken of so many words, or bytes, and compared at the same.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from math import exp, log
from typing import TypeAlias

Words: TypeAlias = tuple[str, ...]
Gram: TypeAlias = tuple[str, ...]
BLEU_ORDER = 4


def distinct(texts: Sequence[Words], n: int, tokens: int) -> float | None:
    """Return the share of distinct n-grams among all of the first `tokens` words (Li et al. 2016), in each text
    separately; None if there is less text than that."""
    if sum(map(len, texts)) < tokens:
        return None
    grams = list(chain.from_iterable(_grams(words, n) for words in _first_words(texts, tokens)))
    return len(set(grams)) / len(grams) if grams else None


def gzip_ratio(texts: Sequence[str], size: int) -> float | None:
    """Return how many times smaller zlib makes the first `size` bytes; None if there are fewer."""
    whole = "\n".join(texts).encode("utf-8", "replace")
    return size / len(zlib.compress(whole[:size], 9)) if len(whole) >= size else None


def self_bleu(texts: Sequence[Words]) -> float | None:
    """Return the mean BLEU-4 of each text against all others (Zhu et al. 2018), 0 to 1; None below two texts.

    From two words on counts are smoothed by one (Lin and Och 2004), and a shorter text is judged by as many orders as
    it has words.
    """
    nonempty = [words for words in texts if words]
    if len(nonempty) < 2:
        return None
    lengths = Counter(map(len, nonempty))
    most = [_two_most([Counter(_grams(words, n)) for words in nonempty]) for n in range(1, BLEU_ORDER + 1)]
    return sum(_bleu(i, words, most, lengths) for i, words in enumerate(nonempty)) / len(nonempty)


Most: TypeAlias = dict[Gram, tuple[int, int, int]]
"""n-gram -> (most often in one text, which text, most often in any other)."""


def _two_most(counts: Sequence[Counter[Gram]]) -> Most:
    out: Most = {}
    for i, text_counts in enumerate(counts):
        for gram, n in text_counts.items():
            first, where, second = out.get(gram, (0, -1, 0))
            out[gram] = (n, i, first) if n > first else (first, where, max(second, n))
    return out


def _bleu(i: int, words: Words, most: Sequence[Most], lengths: Counter[int]) -> float:
    logs = []
    for n in range(1, min(BLEU_ORDER, len(words)) + 1):
        hits, extra = 0, int(n > 1)
        for gram, count in Counter(_grams(words, n)).items():
            first, where, second = most[n - 1][gram]
            hits += min(count, second if where == i else first)
        if not hits + extra:
            return 0.0
        logs.append(log((hits + extra) / (len(words) - n + 1 + extra)))
    return exp(sum(logs) / len(logs)) * _brevity(len(words), lengths)


def _brevity(length: int, lengths: Counter[int]) -> float:
    """Return 1 if another text is no longer than this one, else how much shorter this one is than the nearest."""
    others = [n for n, count in lengths.items() if count > (n == length)]
    nearest = min(others, key=lambda n: (abs(n - length), n))
    return 1.0 if nearest <= length else exp(1 - nearest / length)


def _grams(words: Words, n: int) -> Iterator[Gram]:
    return zip(*(words[i:] for i in range(n)), strict=False)


def _first_words(texts: Sequence[Words], tokens: int) -> Iterator[Words]:
    for words in texts:
        if tokens <= 0:
            return
        yield tuple(islice(words, tokens))
        tokens -= len(words)
