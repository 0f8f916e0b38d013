"""Online Elo: exactly as published, one vote after the other; and what other orders of the same votes would have said.

Kept to reproduce published tables and to show how much of them is the order. The headline is Bradley and Terry's, which
has no order.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judging.stats.votes import MISSING, Floats, Votes

CHUNK = 25_000_000
"""So many votes of orders are held at once."""


@dataclass(frozen=True)
class Elo:
    """k: points a vote can move. shuffle: the seed of `random.Random` that shuffles the votes' order, None to keep it.
    missing_as_tie: whether a judgment that failed moves ratings like a tie, as the published tables have it.
    """

    k: float = 32.0
    scale: float = 400.0
    base: float = 10.0
    init: float = 1000.0
    shuffle: int | None = 123
    missing_as_tie: bool = True

    def votes(self, votes: Votes) -> Votes:
        """Those that move ratings."""
        return votes if self.missing_as_tie else votes.counted


@dataclass(frozen=True)
class Orders:
    """Ratings over many orders. All float64[n]; spread: the largest minus the smallest. kept: the share of orders that
    rank all contestants as the mean does."""

    mean: Floats
    sd: Floats
    spread: Floats
    kept: float
    orders: int


def single_pass(votes: Votes, elo: Elo, anchor: int | None = None) -> Floats:
    """Ratings after one pass, shifted so that contestant number `anchor` has elo.init. float64[n]."""
    votes = elo.votes(votes)
    order = list(range(len(votes)))
    if elo.shuffle is not None:
        random.Random(elo.shuffle).shuffle(order)
    ratings = [float(elo.init)] * len(votes.contestants)
    a, b, score = votes.a.tolist(), votes.b.tolist(), _score(votes).tolist()
    for vote in order:
        one, other = a[vote], b[vote]
        hoped = 1.0 / (1.0 + elo.base ** ((ratings[other] - ratings[one]) / elo.scale))
        ratings[one] += elo.k * (score[vote] - hoped)
        ratings[other] += elo.k * ((1.0 - score[vote]) - (1.0 - hoped))
    return _shifted(np.array(ratings), elo, anchor)


def over_orders(votes: Votes, elo: Elo, orders: int = 200, seed: int = 0, anchor: int | None = None) -> Orders:
    """The same votes in `orders` random orders, side by side. Raises ValueError below two."""
    if orders < 2:
        raise ValueError(f"there must be at least two orders, not {orders}")
    votes, rng = elo.votes(votes), np.random.default_rng(seed)
    at_once = max(1, CHUNK // max(len(votes), 1))
    sizes = [min(at_once, orders - first) for first in range(0, orders, at_once)]
    ratings = _shifted(
        np.concatenate([_passes(votes, elo, _orders(rng, len(votes), size)) for size in sizes]), elo, anchor
    )
    usual = ratings.mean(axis=0)
    kept = (np.argsort(ratings, axis=1) == np.argsort(usual)).all(axis=1).mean()
    return Orders(usual, ratings.std(axis=0, ddof=1), np.ptp(ratings, axis=0), float(kept), orders)


def _orders(rng: np.random.Generator, votes: int, orders: int) -> NDArray[np.int32]:
    """int32[votes, orders]: what is read together lies together."""
    rows = [rng.permutation(votes).astype(np.int32) for _ in range(orders)]
    return np.ascontiguousarray(np.array(rows).T)


def _passes(votes: Votes, elo: Elo, orders: NDArray[np.int32]) -> Floats:
    """float64[orders, n]: all orders go one vote further in each step."""
    lines, n = orders.shape[1], len(votes.contestants)
    ratings = np.full(lines * n, float(elo.init))
    score, first = _score(votes), np.arange(lines) * n
    a, b, steep = votes.a, votes.b, -math.log(elo.base) / elo.scale
    for vote in orders:
        one, other = first + a[vote], first + b[vote]
        move = elo.k * (score[vote] - 1 / (1 + np.exp(steep * (ratings[one] - ratings[other]))))
        ratings[one] += move
        ratings[other] -= move
    return ratings.reshape(lines, n)


def _score(votes: Votes) -> Floats:
    tied = np.isin(votes.outcome, MISSING)
    return np.where(tied, 0.5, np.append([1.0, 0.0, 0.5, 0.5], np.full(len(MISSING), 0.5))[votes.outcome])


def _shifted(ratings: Floats, elo: Elo, anchor: int | None) -> Floats:
    return ratings if anchor is None else ratings + (elo.init - ratings[..., anchor, None])
