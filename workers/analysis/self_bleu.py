"""Self-BLEU: how much the samples of one prompt repeat each other, from 1 (all alike) to 0 (nothing in common).

Each response is compared by BLEU-4 with all others of its prompt as references, and the scores are averaged (Zhu et
al., "Texygen", arXiv 1802.01886, §3.3). Words are those between white space. As in Lin and Och (2004), the counts of
n-grams above one word are smoothed by adding 1, since short responses have few; for a response of fewer than four words
the orders that it has count.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence

ORDERS = 4
Grams = Counter[tuple[str, ...]]


def self_bleu(texts: Sequence[str]) -> float:
    """Return the mean BLEU-4 of each text against all others, in [0, 1]. Raise ValueError for fewer than two texts."""
    if len(texts) < 2:
        raise ValueError("self-BLEU needs at least two texts")
    words = [text.split() for text in texts]
    grams = [[_grams(of_text, order) for of_text in words] for order in range(1, ORDERS + 1)]
    largest = [_two_largest(of_order) for of_order in grams]
    lengths = sorted(map(len, words))
    scores = []
    for i, of_text in enumerate(words):
        if not of_text:
            # An empty response matches an empty one completely, and has nothing in common with any other.
            scores.append(float(sum(not other for other in words) > 1))
            continue
        orders = range(min(ORDERS, len(of_text)))
        logs = [_log_precision(grams[order][i], largest[order], smooth=order > 0) for order in orders]
        scores.append(math.exp(sum(logs) / len(logs)) * _brevity(len(of_text), lengths))
    return sum(scores) / len(scores)


def _grams(words: Sequence[str], order: int) -> Grams:
    return Counter(tuple(words[start : start + order]) for start in range(len(words) - order + 1))


def _two_largest(counts: Sequence[Grams]) -> dict[tuple[str, ...], tuple[int, int]]:
    """Return n-gram -> its largest and second largest count in one text: leaving one text out, the other remains."""
    largest: dict[tuple[str, ...], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for of_text in counts:
        for gram, count in of_text.items():
            first, second = largest[gram]
            largest[gram] = (count, first) if count > first else (first, max(second, count))
    return largest


def _log_precision(own: Grams, largest: dict[tuple[str, ...], tuple[int, int]], *, smooth: bool) -> float:
    """Return the logarithm of the clipped precision against the other texts; −inf if nothing matches, unsmoothed."""
    matches = 0
    for gram, count in own.items():
        first, second = largest[gram]
        matches += min(count, second if count == first else first)
    total = sum(own.values())
    precision = (matches + smooth) / (total + smooth)
    return math.log(precision) if precision > 0 else -math.inf


def _brevity(length: int, lengths: Sequence[int]) -> float:
    """Return BLEU's penalty for a text shorter than the reference of the closest length, the shorter of two.

    `lengths` are sorted and contain the text's own, which is left out.
    """
    at = bisect_left(lengths, length)
    others = [*lengths[max(0, at - 1) : at], *lengths[at + 1 : at + 2]]
    closest = min(others, key=lambda other: (abs(other - length), other))
    return 1.0 if length >= closest else math.exp(1 - closest / length)
