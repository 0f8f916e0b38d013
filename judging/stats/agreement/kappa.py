"""Cohen's kappa: agreement of nominal labels beyond chance. It is NaN if both raters use one label alone.

The same formula on meetings of a fixed number of raters, counted from both sides, is Fleiss's kappa.
"""

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


def cohen_kappa(table: Floats) -> Floats:
    """Return κ of tables of counts, one rater's labels by the other's. float64[..., k, k] -> float64[...]."""
    total = table.sum(axis=(-1, -2))
    observed = table.trace(axis1=-2, axis2=-1)
    chance = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1)
    return _ratio(observed * total - chance, total**2 - chance)


def _ratio(above: Floats, below: Floats) -> Floats:
    result = np.full(np.shape(below), np.nan)
    np.divide(above, below, out=result, where=below > 1e-12)
    return result
