"""Goodness of fit of strengths: on unseen prompts, pair by pair, and by cyclic triples."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from judging.stats.ratings.counts import Counts, build_cells, pair_counts
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.votes import Floats, Votes

COIN_LOG_LOSS = math.log(2)
"""Log loss of a prediction without information, in nats."""


@dataclass(frozen=True)
class HeldOutLoss:
    """Log loss on held-out prompts.

    log_loss: nats per vote, on prompts that the strengths had not seen; COIN_LOG_LOSS is no information. votes: the
    number of votes. skipped: the number of folds whose remaining votes had no ratings.
    """

    log_loss: float
    votes: float
    skipped: int


@dataclass(frozen=True)
class Triples:
    """Triples of contestants without an equal pair: the number of cyclic ones, and of all."""

    cyclic: int
    all: int


def held_out_loss(votes: Votes, folds: int = 5, seed: int = 0) -> HeldOutLoss | None:
    """Return the loss of each fold's votes by the half-win strengths of the other folds.

    Return None if there are too few prompts or no fold can be fitted.
    """
    table = build_cells(votes)
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
    return HeldOutLoss(float(loss.sum() / scores.sum()), float(scores.sum()), int(folds - sound.sum()))


def residuals(votes: Votes, theta: Floats) -> Floats:
    """Return wins minus the expected wins, in standard errors; NaN if a pair never met. float64[n, n]."""
    totals = pair_counts(votes)
    games, chance = totals.games, 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
    over = np.full(games.shape, np.nan)
    error = np.sqrt(games * chance * (1 - chance))
    np.divide(totals.scores - games * chance, error, out=over, where=games > 0)
    return over


def cyclic_triples(votes: Votes) -> Triples:
    """Count the triples that win against each other in a cycle, which no rating can order."""
    scores = pair_counts(votes).scores
    beats = (scores > scores.T).astype(np.float64)
    decided = beats + beats.T
    # Traces count closed walks of three steps: each cycle from three starts, and each triple in both directions too.
    return Triples(round(np.trace(beats @ beats @ beats) / 3), round(np.trace(decided @ decided @ decided) / 6))
