"""Online Elo, exactly as published, one vote after the other, and the ratings of other orders of the same votes.

It reproduces published tables and shows how much they depend on the order. The main ratings are Bradley and Terry's,
which do not depend on an order.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judging.stats.votes import MISSING, Floats, Votes

MAX_VOTES_PER_BLOCK = 25_000_000
"""Largest number of votes in the orders that are in memory together."""


@dataclass(frozen=True)
class Elo:
    """Options of online Elo.

    k: points that a vote can move. shuffle: the seed of `random.Random` that shuffles the votes, None for their own
    order. missing_as_tie: whether a failed judgment moves ratings like a tie, as in the published tables.
    """

    k: float = 32.0
    scale: float = 400.0
    base: float = 10.0
    init: float = 1000.0
    shuffle: int | None = 123
    missing_as_tie: bool = True

    def counted_votes(self, votes: Votes) -> Votes:
        """Return the votes that move ratings."""
        return votes if self.missing_as_tie else votes.counted


@dataclass(frozen=True)
class Orders:
    """Ratings over many orders.

    mean, sd, spread: float64[n]; spread: the largest minus the smallest. kept: the share of orders that rank all
    contestants as the mean does. orders: the number of orders.
    """

    mean: Floats
    sd: Floats
    spread: Floats
    kept: float
    orders: int


def single_pass(votes: Votes, elo: Elo, anchor: int | None = None) -> Floats:
    """Return ratings after one pass, shifted so that contestant number `anchor` has elo.init. float64[n]."""
    votes = elo.counted_votes(votes)
    order = list(range(len(votes)))
    if elo.shuffle is not None:
        random.Random(elo.shuffle).shuffle(order)
    ratings = [float(elo.init)] * len(votes.contestants)
    a, b, score = votes.a.tolist(), votes.b.tolist(), _score(votes).tolist()
    for vote in order:
        first, second = a[vote], b[vote]
        expected = 1.0 / (1.0 + elo.base ** ((ratings[second] - ratings[first]) / elo.scale))
        ratings[first] += elo.k * (score[vote] - expected)
        ratings[second] += elo.k * ((1.0 - score[vote]) - (1.0 - expected))
    return _shift_to_anchor(np.array(ratings), elo, anchor)


def ratings_over_orders(votes: Votes, elo: Elo, orders: int = 200, seed: int = 0, anchor: int | None = None) -> Orders:
    """Rate the same votes in `orders` random orders. Raise ValueError for fewer than two orders."""
    if orders < 2:
        raise ValueError(f"there must be at least two orders, not {orders}")
    votes, rng = elo.counted_votes(votes), np.random.default_rng(seed)
    block_size = max(1, MAX_VOTES_PER_BLOCK // max(len(votes), 1))
    sizes = [min(block_size, orders - first) for first in range(0, orders, block_size)]
    ratings = _shift_to_anchor(
        np.concatenate([_passes(votes, elo, _orders(rng, len(votes), size)) for size in sizes]), elo, anchor
    )
    mean = ratings.mean(axis=0)
    same_ranking = (np.argsort(ratings, axis=1) == np.argsort(mean)).all(axis=1).mean()
    return Orders(mean, ratings.std(axis=0, ddof=1), np.ptp(ratings, axis=0), float(same_ranking), orders)


def _orders(rng: np.random.Generator, votes: int, orders: int) -> NDArray[np.int32]:
    """Return random orders, int32[votes, orders]: entries that are read together are adjacent in memory."""
    rows = [rng.permutation(votes).astype(np.int32) for _ in range(orders)]
    return np.ascontiguousarray(np.array(rows).T)


def _passes(votes: Votes, elo: Elo, orders: NDArray[np.int32]) -> Floats:
    """Return ratings of each order, float64[orders, n]. Each step processes one vote of all orders."""
    lines, n = orders.shape[1], len(votes.contestants)
    ratings = np.full(lines * n, float(elo.init))
    score, first = _score(votes), np.arange(lines) * n
    a, b, steep = votes.a, votes.b, -math.log(elo.base) / elo.scale
    for vote in orders:
        first_player, second_player = first + a[vote], first + b[vote]
        move = elo.k * (score[vote] - 1 / (1 + np.exp(steep * (ratings[first_player] - ratings[second_player]))))
        ratings[first_player] += move
        ratings[second_player] -= move
    return ratings.reshape(lines, n)


def _score(votes: Votes) -> Floats:
    scores = np.append([1.0, 0.0, 0.5, 0.5], np.full(len(MISSING), 0.5))[votes.outcome]
    return np.where(votes.is_soft, votes.preference, scores)


def _shift_to_anchor(ratings: Floats, elo: Elo, anchor: int | None) -> Floats:
    return ratings if anchor is None else ratings + (elo.init - ratings[..., anchor, None])
