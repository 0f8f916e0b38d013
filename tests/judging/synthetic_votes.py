"""Votes of contestants whose strengths are known, and labels as a table."""

from __future__ import annotations

import numpy as np

from judging.stats.agreement import Labels
from judging.stats.agreement.labels import NOTHING
from judging.stats.votes import Outcome, Votes, votes


def invented(
    size: int = 2000,
    contestants: int = 6,
    prompts: int = 60,
    annotators: int = 3,
    tie_rate: float = 0.2,
    seed: int = 0,
    theta: np.ndarray | None = None,
) -> Votes:
    """Bradley-Terry votes, some of them tied, on prompts and by annotators drawn at random."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(0, 0.7, contestants) if theta is None else theta
    a = rng.integers(0, contestants, size)
    b = (a + rng.integers(1, contestants, size)) % contestants
    a_wins = rng.random(size) < 1 / (1 + np.exp(theta[b] - theta[a]))
    outcome = np.where(rng.random(size) < tie_rate, Outcome.TIE, np.where(a_wins, Outcome.A, Outcome.B))
    names = tuple(f"model-{k}" for k in range(contestants))
    first = rng.choice([-1, 1], size)
    return votes(names, a, b, outcome, rng.integers(0, prompts, size), rng.integers(0, annotators, size), first)


def told(contestants: tuple[str, ...], *games: tuple[int, int, Outcome]) -> Votes:
    """Votes as they are told, each on a prompt of its own."""
    a, b, outcome = np.array(games, np.int64).reshape(-1, 3).T
    return votes(contestants, a, b, outcome)


def table(values: np.ndarray, prompt: np.ndarray | None = None) -> Labels:
    """Return labels of raters in rows and items in columns, NOTHING where there is none; all saw the same order."""
    rater, item = np.nonzero(values != NOTHING)
    names, size = tuple(map(str, range(len(values)))), values.shape[1]
    prompt = np.arange(size) if prompt is None else prompt
    return Labels(names, rater, item, values[rater, item], prompt, np.ones(size, np.bool_))
