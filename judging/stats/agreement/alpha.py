"""Krippendorff's alpha: any number of raters, any of them missing anywhere; labels nominal or in an order.

Krippendorff, "Content Analysis" (2018), chapter 12. Undefined, and NaN, where only one label was ever used.
"""

from __future__ import annotations

import numpy as np

from judging.stats.agreement.labels import Labels
from judging.stats.votes import Floats

DISTANCES = ("nominal", "ordinal")


def coincidences(labels: Labels) -> Floats:
    """Return how often each two labels met in each item, one over its raters less one each. float64[items, k, k]."""
    raters = labels.rated().sum(axis=1)
    weight = np.zeros(len(raters))
    np.divide(1, raters - 1, out=weight, where=raters > 1)
    return np.asarray(labels.meetings() * weight[:, None, None])


def alpha(coincidences: Floats, distance: str = "nominal") -> Floats:
    """Return α of coincidences summed over items, float64[..., k, k] -> float64[...].

    Raise ValueError if `distance` is none of DISTANCES.
    """
    if distance not in DISTANCES:
        raise ValueError(f"distance must be one of {', '.join(DISTANCES)}, not {distance!r}")
    used = coincidences.sum(axis=-1)
    apart = _nominal(used) if distance == "nominal" else _ordinal(used)
    observed = (coincidences * apart).sum(axis=(-1, -2))
    chance = (used[..., :, None] * used[..., None, :] * apart).sum(axis=(-1, -2))
    result = np.full(np.shape(chance), np.nan)
    np.divide((used.sum(axis=-1) - 1) * observed, chance, out=result, where=chance > 0)
    return np.asarray(1 - result)


def _nominal(used: Floats) -> Floats:
    kinds = used.shape[-1]
    return np.broadcast_to(1 - np.eye(kinds), (*used.shape, kinds))


def _ordinal(used: Floats) -> Floats:
    """Return the squared number of labels between two, half of the two themselves counted."""
    middle = used.cumsum(axis=-1) - used / 2
    return np.asarray((middle[..., :, None] - middle[..., None, :]) ** 2)
