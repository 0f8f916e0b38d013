"""Agreement of nominal labels beyond chance: Cohen's kappa of two raters, Fleiss's of a fixed number of them.

Undefined, and NaN, where chance alone would agree always: both use one label.
"""

from __future__ import annotations

import numpy as np

from judging.agreement.labels import NOTHING, Labels
from judging.votes import Floats


def crosses(labels: Labels, one: int, other: int) -> Floats:
    """Each item's label by both raters, as a table with one 1; zero where either said nothing. float64[items, k, k]."""
    pair = np.stack([labels.row(one), labels.row(other)])
    tables = np.zeros((pair.shape[1], labels.kinds, labels.kinds))
    both = np.flatnonzero((pair != NOTHING).all(axis=0))
    tables[both, pair[0, both], pair[1, both]] = 1
    return tables


def cohen(table: Floats) -> Floats:
    """Of tables of counts, float64[..., k, k], one rater's labels by the other's. float64[...]."""
    total = table.sum(axis=(-1, -2))
    observed = table.trace(axis1=-2, axis2=-1)
    chance = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1)
    return _ratio(observed * total - chance, total**2 - chance)


def fleiss(rated: Floats) -> float:
    """Of how many raters said what of each item, float64[items, k]. NaN where the number of raters is not the same
    everywhere, or below two: then Krippendorff's alpha is the one to ask."""
    raters = rated.sum(axis=1)
    if not len(rated) or raters[0] < 2 or (raters != raters[0]).any():
        return float("nan")
    n = raters[0]
    observed = ((rated**2).sum(axis=1) - n).mean() / (n * (n - 1))
    chance = ((rated.sum(axis=0) / rated.sum()) ** 2).sum()
    return float(_ratio(np.asarray(observed - chance), np.asarray(1 - chance)))


def _ratio(above: Floats, below: Floats) -> Floats:
    result = np.full(np.shape(below), np.nan)
    np.divide(above, below, out=result, where=below > 1e-12)
    return result
