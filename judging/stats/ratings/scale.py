"""Conversion of log-strengths in nats to the Elo scale: 400 points are odds of ten to one."""

from __future__ import annotations

import math

import numpy as np

from judging.stats.votes import Floats

INIT = 1000.0
ELO_PER_NAT = 400 / math.log(10)
"""Elo points per nat: 173.72."""


def centre_ratings(theta: Floats, init: float = INIT) -> Floats:
    """Return ratings with their mean at `init`. theta: float64[..., n], nats."""
    return np.asarray(init + ELO_PER_NAT * (theta - theta.mean(axis=-1, keepdims=True)))


def anchor_ratings(theta: Floats, anchor: int, init: float = INIT) -> Floats:
    """Return ratings with contestant number `anchor` at `init`. Its uncertainty is part of the others' intervals."""
    return init + ELO_PER_NAT * (theta - theta[..., anchor, None])


def rating_differences(theta: Floats) -> Floats:
    """Return the Elo of i minus that of j. float64[..., n, n]."""
    return ELO_PER_NAT * (theta[..., :, None] - theta[..., None, :])
