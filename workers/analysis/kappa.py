"""Cohen's kappa: agreement of nominal labels beyond chance. It is NaN if both raters use one label alone.

The same formula on meetings of a fixed number of raters, counted from both sides, is Fleiss's kappa.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]


def cohen_kappa(table: Floats) -> Floats:
    """Return κ of tables of counts, one rater's labels by the other's. float64[..., k, k] -> float64[...]."""
    total = table.sum(axis=(-1, -2))
    observed = table.trace(axis1=-2, axis2=-1)
    chance = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1)
    return _ratio(observed * total - chance, total**2 - chance)


def raw_agreement(table: Floats) -> Floats:
    """Return the share on the diagonal of tables of counts. float64[..., k, k] -> float64[...]."""
    return _ratio(table.trace(axis1=-2, axis2=-1), table.sum(axis=(-1, -2)))


def _ratio(above: Floats, below: Floats) -> Floats:
    result = np.full(np.shape(below), np.nan)
    np.divide(above, below, out=result, where=below > 1e-12)
    return result
