"""How well strengths explain votes: on unseen prompts, pair by pair, and whether they stand in a line at all."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from judging.stats.ratings.counts import Counts, cells, counts
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.votes import Floats, Votes

COIN = math.log(2)
"""The log loss of who knows nothing."""


@dataclass(frozen=True)
class HeldOut:
    """log_loss: nats a vote, on prompts that the strengths had not seen; `COIN` is knowing nothing. votes: over how
    many. skipped: folds whose rest had no ratings."""

    log_loss: float
    votes: float
    skipped: int


@dataclass(frozen=True)
class Triples:
    """Of contestants who all beat one another more often than not: how many go round in a circle."""

    cyclic: int
    all: int


def held_out(votes: Votes, folds: int = 5, seed: int = 0) -> HeldOut | None:
    """Each fold's votes by the strengths of the others, half-win. None where prompts are too few or nothing fits."""
    table = cells(votes)
    prompts = int(table.prompt.max(initial=-1)) + 1
    if prompts < folds:
        return None
    fold = np.random.default_rng(seed).permutation(prompts) % folds
    scores = np.array([table.counts((fold[table.prompt] == k).astype(float)).scores for k in range(folds)])
    rest = scores.sum(axis=0) - scores
    fits = fit(Counts(rest, np.zeros_like(rest)))
    sound = ~fits.failed
    if not sound.any():
        return None
    theta, scores = fits.theta[sound], scores[sound]
    loss = scores * np.logaddexp(0, theta[:, None, :] - theta[:, :, None])
    return HeldOut(float(loss.sum() / scores.sum()), float(scores.sum()), int(folds - sound.sum()))


def residuals(votes: Votes, theta: Floats) -> Floats:
    """Wins over what the strengths say, in standard errors; NaN where a pair never met. float64[n, n]."""
    found = counts(votes)
    games, chance = found.games, 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
    over = np.full(games.shape, np.nan)
    error = np.sqrt(games * chance * (1 - chance))
    np.divide(found.scores - games * chance, error, out=over, where=games > 0)
    return over


def cyclic_triples(votes: Votes) -> Triples:
    """Three who beat each other in a circle cannot be put in a line by any rating."""
    scores = counts(votes).scores
    beats = (scores > scores.T).astype(np.float64)
    decided = beats + beats.T
    # Closed walks of three steps: each circle is walked from three starts, each triple both ways round too.
    return Triples(round(np.trace(beats @ beats @ beats) / 3), round(np.trace(decided @ decided @ decided) / 6))
