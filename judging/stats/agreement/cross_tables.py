"""Cross tables of two raters' labels."""

from __future__ import annotations

import numpy as np

from judging.stats.agreement.labels import NO_LABEL, Labels
from judging.stats.votes import Floats


def cross_tables(labels: Labels, first: int, second: int) -> Floats:
    """Return each item's labels by both raters as a table that sums to 1, or to 0 if either gave none.

    float64[items, k, k]; an item without a common side has two cells of a half.
    """
    pair = np.stack([labels.row(first), labels.row(second)])
    tables = np.zeros((pair.shape[1], labels.kinds, labels.kinds))
    both = np.flatnonzero((pair != NO_LABEL).all(axis=0))
    tables[both, pair[0, both], pair[1, both]] = 1
    return labels.in_both_directions(tables)
