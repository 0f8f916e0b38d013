"""Votes -> who said what of which comparison: a table of raters and items, from which all agreement is counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judging.votes import Floats, Ints, Votes

KINDS = 3
"""The first of the pair wins, a tie of either kind, the second wins: in this order, for ordinal distances."""
TIE = 1
NOTHING = -1


@dataclass(frozen=True)
class Labels:
    """What was said, in m entries, one for a rater and an item at most: of many raters most said nothing of most items.

    rater, item, label: int64[m], label from 0 to `kinds` - 1. prompt: int64[items]; items on one prompt are resampled
    together.
    """

    raters: tuple[str, ...]
    rater: Ints
    item: Ints
    label: Ints
    prompt: Ints
    kinds: int = KINDS

    def rated(self) -> Floats:
        """How many raters said what of each item. float64[items, kinds]."""
        size = len(self.prompt)
        counts = np.bincount(self.item * self.kinds + self.label, minlength=size * self.kinds)
        return counts.reshape(size, self.kinds).astype(np.float64)

    def row(self, rater: int) -> Ints:
        """What a rater said of each item, NOTHING where it did not. int64[items]."""
        said, own = np.full(len(self.prompt), NOTHING), self.rater == rater
        said[self.item[own]] = self.label[own]
        return said


def labels(votes: Votes) -> Labels:
    """An item is a prompt and two contestants, in whatever order they were shown. Who judged it several times, as with
    sides swapped, is taken at what most of it says; at a tie where it cancels out."""
    counted, n = votes.counted, len(votes.contestants)
    low, high = np.minimum(counted.a, counted.b), np.maximum(counted.a, counted.b)
    names, item = np.unique((counted.prompt * n + low) * n + high, return_inverse=True)
    entries, entry = np.unique(counted.annotator * len(names) + item.reshape(-1), return_inverse=True)
    lean = np.where(counted.a == low, 1, -1) * (counted.score - 0.5)
    summed = np.bincount(entry.reshape(-1), lean, minlength=len(entries))
    rater, item = np.divmod(entries, max(len(names), 1))
    return Labels(votes.annotators, rater, item, (TIE - np.sign(summed)).astype(np.int64), names // max(n * n, 1))
