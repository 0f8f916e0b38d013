"""Votes of contestants with known strengths, and labels as a table."""

from __future__ import annotations

import numpy as np

from judging.stats.agreement import Labels
from judging.stats.agreement.labels import NO_LABEL
from judging.stats.votes import Outcome, Votes, votes_from_arrays


def make_random_votes(
    size: int = 2000,
    contestants: int = 6,
    prompts: int = 60,
    annotators: int = 3,
    tie_rate: float = 0.2,
    seed: int = 0,
    theta: np.ndarray | None = None,
) -> Votes:
    """Return Bradley-Terry votes, some of them tied, on random prompts and by random annotators."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(0, 0.7, contestants) if theta is None else theta
    a = rng.integers(0, contestants, size)
    b = (a + rng.integers(1, contestants, size)) % contestants
    a_wins = rng.random(size) < 1 / (1 + np.exp(theta[b] - theta[a]))
    outcome = np.where(rng.random(size) < tie_rate, Outcome.TIE, np.where(a_wins, Outcome.A, Outcome.B))
    names = tuple(f"model-{k}" for k in range(contestants))
    first = rng.choice([-1, 1], size)
    return votes_from_arrays(
        names, a, b, outcome, rng.integers(0, prompts, size), rng.integers(0, annotators, size), first
    )


def make_game_votes(contestants: tuple[str, ...], *games: tuple[int, int, Outcome]) -> Votes:
    """Return votes for these games, each on a prompt of its own."""
    a, b, outcome = np.array(games, np.int64).reshape(-1, 3).T
    return votes_from_arrays(contestants, a, b, outcome)


def table(values: np.ndarray, prompt: np.ndarray | None = None) -> Labels:
    """Return labels of raters in rows and items in columns, NOTHING where there is none; all saw the same order."""
    rater, item = np.nonzero(values != NO_LABEL)
    names, size = tuple(map(str, range(len(values)))), values.shape[1]
    prompt = np.arange(size) if prompt is None else prompt
    return Labels(names, rater, item, values[rater, item], prompt, np.ones(size, np.bool_))
