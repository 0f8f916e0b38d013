"""Turn votes into a table of raters and items, from which all agreement is computed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judging.stats.votes import Bools, Floats, Ints, Votes

KINDS = 3
"""Number of labels: one response wins, a tie of either kind, the other wins, in this order for ordinal distances."""
TIE = 1
NO_LABEL = -1


@dataclass(frozen=True)
class Labels:
    """Labels in m entries, at most one for a rater and an item: of many raters most judged few of the items.

    rater, item, label: int64[m], label from 0 to `kinds` - 1. prompt: int64[items]; items on one prompt are resampled
    together. is_sided: bool[items], true if all raters saw the item's answers in the same order, which is known: label
    0 then means that the answer shown first wins. Elsewhere it means the contestant of the lower number, which depends
    on the contestants' names: statistics that compare labels of several items count these items in both directions.
    """

    raters: tuple[str, ...]
    rater: Ints
    item: Ints
    label: Ints
    prompt: Ints
    is_sided: Bools
    kinds: int = KINDS

    def rated(self) -> Floats:
        """Return how many raters gave each label to each item. float64[items, kinds]."""
        size = len(self.prompt)
        counts = np.bincount(self.item * self.kinds + self.label, minlength=size * self.kinds)
        return counts.reshape(size, self.kinds).astype(np.float64)

    def row(self, rater: int) -> Ints:
        """Return the rater's label of each item, NOTHING if there is none. int64[items]."""
        row, own = np.full(len(self.prompt), NO_LABEL), self.rater == rater
        row[self.item[own]] = self.label[own]
        return row

    def in_both_directions(self, tables: Floats) -> Floats:
        """Return tables of two raters' labels; those of items without a common side are averaged with their mirror.

        tables: float64[items, kinds, kinds]. The sum of each table stays as it is.
        """
        mirrored = (tables + tables[:, ::-1, ::-1]) / 2
        return np.where(self.is_sided[:, None, None], tables, mirrored)

    def meetings(self) -> Floats:
        """Return how often each two labels of different raters met, from both sides. float64[items, kinds, kinds]."""
        rated = self.rated()
        return self.in_both_directions(rated[:, :, None] * rated[:, None, :] - rated[:, :, None] * np.eye(self.kinds))


def build_labels(votes: Votes) -> Labels:
    """Return the labels of these votes; an item is a prompt and two contestants.

    A rater who judged an item several times, as with sides swapped, has the label of the majority; a tie if there is
    none. Nothing depends on the contestants' names or on the order of votes but for the items' order.
    """
    counted, n = votes.counted, len(votes.contestants)
    low, high = np.minimum(counted.a, counted.b), np.maximum(counted.a, counted.b)
    names, item = np.unique((counted.prompt * n + low) * n + high, return_inverse=True)
    item, is_low = item.reshape(-1), np.where(counted.a == low, 1, -1)
    first = np.bincount(item, counted.shown_first * is_low, minlength=len(names))
    is_sided = np.abs(first) == np.bincount(item, minlength=len(names))
    direction = np.where(is_sided, np.sign(first), 1)
    entries, entry = np.unique(counted.annotator * len(names) + item, return_inverse=True)
    summed = np.bincount(entry.reshape(-1), is_low * direction[item] * (counted.score - 0.5), minlength=len(entries))
    rater, own = np.divmod(entries, max(len(names), 1))
    label = (TIE - np.sign(summed)).astype(np.int64)
    return Labels(votes.annotators, rater, own, label, names // max(n * n, 1), is_sided)
