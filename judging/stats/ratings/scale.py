"""Log-strengths in nats <-> the Elo scale: 400 points are odds of ten to one."""

from __future__ import annotations

import math

import numpy as np

from judging.stats.votes import Floats

INIT = 1000.0
ELO_PER_NAT = 400 / math.log(10)
"""173.72."""


def centred(theta: Floats, init: float = INIT) -> Floats:
    """Ratings with their mean at `init`. theta: float64[..., n], nats."""
    return np.asarray(init + ELO_PER_NAT * (theta - theta.mean(axis=-1, keepdims=True)))


def anchored(theta: Floats, anchor: int, init: float = INIT) -> Floats:
    """Ratings with contestant number `anchor` at `init`. Its uncertainty goes into all the others' intervals."""
    return init + ELO_PER_NAT * (theta - theta[..., anchor, None])


def differences(theta: Floats) -> Floats:
    """Elo of i above j. float64[..., n, n]."""
    return ELO_PER_NAT * (theta[..., :, None] - theta[..., None, :])
