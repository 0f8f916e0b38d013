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
    """values: int64[raters, items], 0 to `kinds` - 1, NOTHING where a rater said nothing.

    prompt: int64[items]; items on one prompt are resampled together.
    """

    raters: tuple[str, ...]
    values: Ints
    prompt: Ints
    kinds: int = KINDS

    def rated(self) -> Floats:
        """How many raters said what of each item. float64[items, kinds]."""
        return np.stack([(self.values == kind).sum(axis=0) for kind in range(self.kinds)], axis=1).astype(np.float64)


def labels(votes: Votes) -> Labels:
    """An item is a prompt and two contestants, in whatever order they were shown. Who judged it several times, as with
    sides swapped, is taken at what most of it says; at a tie where it cancels out."""
    counted, n = votes.counted, len(votes.contestants)
    low, high = np.minimum(counted.a, counted.b), np.maximum(counted.a, counted.b)
    names, item = np.unique((counted.prompt * n + low) * n + high, return_inverse=True)
    lean = np.where(counted.a == low, 1, -1) * (counted.score - 0.5)
    shape = (len(votes.annotators), len(names))
    summed, said = np.zeros(shape), np.zeros(shape, np.bool_)
    np.add.at(summed, (counted.annotator, item.reshape(-1)), lean)
    said[counted.annotator, item.reshape(-1)] = True
    values = np.where(said, TIE - np.sign(summed), NOTHING).astype(np.int64)
    return Labels(votes.annotators, values, names // max(n * n, 1))
